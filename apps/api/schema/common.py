"""Shapes that several endpoints answer with, and their failures."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from apps.api.domain.parameters import Accepted
from apps.api.errors import MEDIA_TYPE
from apps.api.schema import shapes as s
from apps.core.query import Dimension

PROBLEM = s.thing(
    "One thing wrong with what was sent.",
    {
        "record": {"type": ["integer", "null"], "description": "0-based place in the batch; null outside batches."},
        "field": s.text("Path inside the record, or the parameter; empty for the whole."),
        "code": s.text("A stable word for programs: negative, wrong_type, missing, ..."),
        "message": s.text("What is wrong, and what would be right."),
    },
)
PROBLEM_DETAILS: s.Shape = {
    **s.thing(
        "RFC 9457 problem details. Every failure of this API has this shape.",
        {
            "type": s.text("Always about:blank: code says what it is."),
            "title": s.text("The phrase of the status."),
            "status": s.integer("The HTTP status."),
            "code": s.text("A stable word for programs."),
            "detail": s.text("What happened, in a sentence."),
            "problems": s.many(s.ref("Problem"), "Everything that is wrong, at most the first 100."),
        },
    ),
    "additionalProperties": True,
}
NOUN = s.thing(
    "A noun of the catalog. Id 0 stands for records that came without such a label.",
    {
        "id": s.integer("Stable for ever."),
        "slug": s.text("What filters take."),
        "name": s.text("For people."),
        "claimed": s.boolean("False for what was met in records and nobody has named yet."),
    },
)
WINDOW = s.thing(
    "The window [from, to) that the rows describe.",
    {"from": s.moment("Inclusive."), "to": s.moment("Exclusive.")},
)
COMPONENTS: dict[str, s.Shape] = {
    "Problem": PROBLEM,
    "ProblemDetails": PROBLEM_DETAILS,
    "Noun": NOUN,
    "Window": WINDOW,
}

_FAILURES = {
    400: "Something in the request is wrong: problems name the parameter or field.",
    401: "No key, or one that is wrong or revoked.",
    403: "The key lacks the scope.",
    411: "The length of the body is not known to the server.",
    413: "The body is over the limit, as sent or after decompression.",
    415: "A Content-Encoding other than identity, gzip and zstd.",
    422: "Every record was rejected. Also has the members of the 200 answer.",
    503: "Not now, e.g. the database is away. Send again after Retry-After seconds.",
}


def failures(*statuses: int) -> dict[Any, OpenApiResponse]:
    return {(status, MEDIA_TYPE): OpenApiResponse(s.ref("ProblemDetails"), _FAILURES[status]) for status in statuses}


def page(description: str, row: str, group_by: tuple[Dimension, ...], **more: s.Shape) -> s.Shape:
    """The envelope of a grouped answer whose rows are of the component `row`."""
    return s.thing(
        description,
        {
            "window": s.ref("Window"),
            "bucket": s.word("As asked.", "total", "hour", "day"),
            "group_by": s.many({"type": "string", "enum": list(group_by)}, "As asked."),
            "filters": {
                "type": "object",
                "additionalProperties": s.many({"type": "string"}, "Slugs."),
                "description": "As asked.",
            },
            **more,
            "rows": s.many(s.ref(row), "By bucket, then by the ids of group_by."),
            "next_cursor": s.text_or_null("For the next page; null on the last one."),
        },
    )


def grouped(description: str, accepted: Accepted, properties: dict[str, s.Shape]) -> s.Shape:
    """A row: its bucket, a noun for each dimension that was asked for, and `properties`."""
    return s.thing(
        description,
        {"bucket": s.moment_or_null("Start of the hour or day; null for the whole window."), **properties},
        {dimension: s.ref("Noun") for dimension in accepted.group_by},
    )


def answer(component: str, description: str, example: object | None = None) -> OpenApiResponse:
    examples = [OpenApiExample("example", value=example)] if example is not None else []
    return OpenApiResponse(s.ref(component), description, examples)
