"""The query parameters, described once."""

from __future__ import annotations

from collections.abc import Sequence

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from apps.api.domain.parameters import BUCKETS, DEFAULT_LIMIT, LARGEST_LIMIT, Accepted
from apps.api.domain.windows import DEFAULT_RANGE

_DESCRIPTIONS = {
    "from": "Start of the window, inclusive: a date (00:00 UTC) or an RFC 3339 time on a whole UTC hour.",
    "to": "End of the window, exclusive. Without it the window ends with the hour that is running.",
    "range": "Instead of from and to: the last hours, days or weeks, the running hour included.",
    "period": "Instead of from and to: one UTC calendar month.",
    "group_by": "Comma-separated: one row for each combination.",
    "bucket": "One row a group for the whole window, or for each UTC hour or day.",
    "limit": f"Rows a page, 1 to {LARGEST_LIMIT}.",
    "cursor": "next_cursor of the page before, with all other parameters unchanged. It pins the window.",
}
_EXAMPLES = {
    "from": "2026-11-01",
    "to": "2026-12-01T00:00:00Z",
    "range": DEFAULT_RANGE,
    "period": "2026-11",
    "group_by": "team,model",
    "team": "support,search",
}


def parameters(accepted: Accepted) -> list[OpenApiParameter]:
    """Descriptions of what an endpoint accepts; a test holds them against what it does accept."""
    return [_parameter(name, accepted) for name in accepted.names()]


def _parameter(name: str, accepted: Accepted) -> OpenApiParameter:
    description = _DESCRIPTIONS.get(name, f"Keep only these: comma-separated slugs of the catalog's {name}s.")
    if name == "group_by":
        description += " Of: " + ", ".join(accepted.group_by) + "."
    default: dict[str, object] = {
        "bucket": "total",
        "limit": DEFAULT_LIMIT,
        **({"range": accepted.default_range} if accepted.default_range else {}),
    }
    return OpenApiParameter(
        name,
        {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT} if name == "limit" else OpenApiTypes.STR,
        description=description,
        enum=list(BUCKETS) if name == "bucket" else None,
        default=default.get(name),
        examples=_examples(name),
    )


def _examples(name: str) -> Sequence[OpenApiExample]:
    return [OpenApiExample(name, value=_EXAMPLES[name])] if name in _EXAMPLES else []
