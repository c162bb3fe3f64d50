"""Short words for JSON Schema: each makes one property or object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Shape = dict[str, Any]


def integer(description: str) -> Shape:
    return {"type": "integer", "description": description}


def number_or_null(description: str) -> Shape:
    return {"type": ["number", "null"], "description": description}


def text(description: str) -> Shape:
    return {"type": "string", "description": description}


def text_or_null(description: str) -> Shape:
    return {"type": ["string", "null"], "description": description}


def boolean(description: str) -> Shape:
    return {"type": "boolean", "description": description}


def decimal(description: str) -> Shape:
    return {"type": "string", "pattern": r"^-?\d+(\.\d+)?$", "description": description, "examples": ["12.345678"]}


def decimal_or_null(description: str) -> Shape:
    return {**decimal(description), "type": ["string", "null"]}


def moment(description: str) -> Shape:
    return {"type": "string", "format": "date-time", "description": description, "examples": ["2026-11-30T14:00:00Z"]}


def moment_or_null(description: str) -> Shape:
    return {**moment(description), "type": ["string", "null"]}


def word(description: str, *words: str) -> Shape:
    return {"type": "string", "enum": list(words), "description": description}


def word_or_null(description: str, *words: str) -> Shape:
    return {"type": ["string", "null"], "enum": [*words, None], "description": description}


def many(items: Shape, description: str) -> Shape:
    return {"type": "array", "items": items, "description": description}


def ref(component: str) -> Shape:
    return {"$ref": f"#/components/schemas/{component}"}


def thing(description: str, properties: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object that has all of `properties`, may have `optional`, and nothing else."""
    return {
        "type": "object",
        "description": description,
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def with_reason(name: str, description: str) -> dict[str, Shape]:
    """A decimal that may be unknown, and the member that says why."""
    return {
        name: decimal_or_null(f"{description} Null when it is not known."),
        f"{name}_reason": text_or_null(f"Why {name} is null."),
    }
