"""One JSON text read with patience, and what of it may be kept: names of fields twice, broken text, no bodies."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from apps.core.errors import Problem
from apps.ingest.domain.limits import MAX_BRACKETS, MAX_DEPTH
from apps.ingest.domain.structure import shape_of

BODIES = frozenset(
    """
    messages message response prompt prompts input inputs output outputs content contents completion completions choices
    text body request_body response_body instructions system tools functions tool_calls function_call arguments
    documents query queries proxy_server_request raw_request raw_response error_str error_message traceback thinking
    reasoning reasoning_content authorization cookie x-api-key api_key
    """.split()  # noqa: SIM905
)
"""Names under which prompts, answers or secrets travel. Compared in lower case."""

_TYPE_WORDS = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
KEPT_TEXT = 200
KEPT_BYTES = 16 * 1024
_MARKERS = frozenset({"MaxDepthExceeded", "CircularReference Detected", "Unserializable Object"})


class Unreadable(ValueError):
    """The text is no JSON value; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def parse(raw: bytes) -> tuple[Any, list[str]]:
    """The value of a JSON text, and the names that stand twice in one object (dotted paths are not told).

    Bare NaN and Infinity, which Python's own writer emits, are read as floats. Raises Unreadable.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        message = f"byte {error.start} (0x{raw[error.start]:02x}) is not UTF-8"
        raise Unreadable(Problem("bad_utf8", message)) from None
    if "\x00" in text:
        raise Unreadable(Problem("nul_byte", f"there is a NUL byte at byte {raw.index(0)}"))
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        deepest, brackets = shape_of(raw)
        if deepest > MAX_DEPTH:
            raise Unreadable(Problem("too_deep", f"is nested more than {MAX_DEPTH} levels deep"))
        if brackets > MAX_BRACKETS:
            raise Unreadable(Problem("too_large", f"holds more than {MAX_BRACKETS // 2:,} objects and lists"))
    twice: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice.extend(name for name, count in counts.items() if count > 1)
        return out

    try:
        return json.loads(text, object_pairs_hook=members), twice
    except json.JSONDecodeError as error:
        raise Unreadable(Problem("not_json", f"is not valid JSON: {error.msg} at character {error.pos}")) from None
    except RecursionError:
        raise Unreadable(Problem("too_deep", "is nested too deeply to be read")) from None
    except ValueError:
        raise Unreadable(Problem("out_of_range", "contains a number with too many digits")) from None


def type_word(value: Any) -> str:
    """What JSON calls the type of a value."""
    if value is None:
        return "null"
    kinds = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)


def without_markers(value: Any) -> Any:
    """The value with the texts that a serialiser puts in place of what it could not write turned into nulls."""
    if isinstance(value, dict):
        return {name: without_markers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [without_markers(member) for member in value]
    return None if isinstance(value, str) and value in _MARKERS else value


def not_finite(value: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of NaN and infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from not_finite(member, f"{path}.{name}" if path else name)


def kept(value: Any) -> str:
    """What is kept of a rejected record, as JSON text: no bodies, no long texts, at most KEPT_BYTES."""
    text = json.dumps(_without_bodies(value, 0), ensure_ascii=True)
    return text.replace("\\u0000", "\\ufffd")[:KEPT_BYTES]


def _without_bodies(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    if depth > 12:
        return None
    if isinstance(value, dict):
        return {
            str(name)[:KEPT_TEXT]: None if member is None else _without_bodies(member, depth + 1)
            for name, member in value.items()
            if str(name).lower() not in BODIES
        }
    if isinstance(value, list):
        return [_without_bodies(member, depth + 1) for member in value[:50]]
    if isinstance(value, str) and len(value) > KEPT_TEXT:
        return f"[{len(value)} characters, not kept]"
    return value


@cache
def _plain_values(names: tuple[str, ...]) -> re.Pattern[bytes]:
    known = b"|".join(re.escape(name.encode()) for name in sorted(names))
    return re.compile(rb'"(' + known + rb')"\s*:\s*("[^"\\\x00-\x1f]{0,200}"|-?[0-9][0-9.eE+-]{0,40}|true|false|null)')


def salvaged(raw: bytes, names: Iterable[str]) -> str:
    """What is kept of a record that is no JSON: the plain values of the named fields, as far as they can be read.

    Nothing else can be kept, since what is not understood may be a prompt.
    """
    found: dict[str, Any] = {}
    for match in _plain_values(tuple(names)).finditer(raw[: 64 * KEPT_BYTES]):
        try:
            found.setdefault(match[1].decode(), json.loads(match[2]))
        except ValueError:
            continue
    return kept(found)
