"""Turns the text of a catalog file into its mapping and back; nothing that stands twice is overlooked."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from apps.core.errors import InvalidInput, Problem


class _Loader(yaml.SafeLoader):
    """YAML with repeated keys refused and decimal numbers left as text, so that 0.1 stays 0.1."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    seen: set[object] = set()
    for key_node, _ in node.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands twice in one mapping", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


def _number_as_text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:float", _number_as_text)


def read_text(text: str) -> object:
    """What the YAML says. Raises InvalidInput with the line where it is not YAML."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidInput(Problem("syntax", f"{where}{error.problem or error.context}")) from None
    except (yaml.YAMLError, ValueError) as error:
        # ValueError: a date such as 2026-13-01, which looks like one and is none
        raise InvalidInput(Problem("syntax", str(error))) from None


def write_text(document: Mapping[str, object]) -> str:
    """YAML in the order of the mapping."""
    return yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=120)
