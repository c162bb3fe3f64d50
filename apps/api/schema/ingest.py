"""The ingest endpoints, described."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiRequest,
    OpenApiResponse,
    extend_schema,
    extend_schema_view,
)

from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures

COMPONENTS = {
    "RecordResult": s.thing(
        "What became of one record.",
        {
            "record": s.integer("0-based place in the body."),
            "result": s.word("A duplicate was stored before, and counts once.", "stored", "duplicate", "rejected"),
        },
        {"problems": s.many(s.ref("Problem"), "Why it was rejected.")},
    ),
    "BatchResult": s.thing(
        "What became of a body. What is stored or duplicate is on disk when this is answered.",
        {
            "batch_id": {"type": ["integer", "null"], "description": "The delivery, as Data health shows it."},
            "stored": s.integer("Records that are new."),
            "duplicate": s.integer("Records that were there already."),
            "rejected": s.integer("Records that are kept aside, to be seen, fixed and sent again."),
            "results": s.many(s.ref("RecordResult"), "One a record, or only the rejected ones, as asked."),
        },
    ),
}

_RESULTS = OpenApiParameter(
    "results",
    OpenApiTypes.STR,
    enum=["all", "rejected"],
    default="all",
    description="Which records to list; rejected ones alone up to 1,000.",
)
_FORMAT = OpenApiParameter(
    "format",
    OpenApiTypes.STR,
    enum=["auto", "native", "litellm"],
    default="auto",
    description="How records are written; auto looks at each.",
)
_ENCODING = OpenApiParameter(
    "Content-Encoding",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    enum=["identity", "gzip", "zstd"],
    description="How the body is compressed.",
)
_REQUEST_RECORD = {
    "id": "chatcmpl-9f2c",
    "started_at": "2026-11-30T14:03:11.120Z",
    "first_token_at": "2026-11-30T14:03:11.502Z",
    "ended_at": "2026-11-30T14:03:14.871Z",
    "task_id": "ticket-8812",
    "team": "support",
    "endpoint": "ticket-triage",
    "model": "granite-small",
    "replica": "granite-small-0",
    "stream": True,
    "status": "ok",
    "input_tokens": 612,
    "cached_input_tokens": 512,
    "output_tokens": 148,
}
_OUTCOME_RECORD = {
    "task_id": "ticket-8812",
    "accepted": True,
    "reworked": False,
    "score": 0.92,
    "review_minutes": 1.5,
    "evaluator": "agent-desk",
    "decided_at": "2026-11-30T14:20:00Z",
}
_ALL_STORED = {
    "batch_id": 412,
    "stored": 1,
    "duplicate": 0,
    "rejected": 0,
    "results": [{"record": 0, "result": "stored"}],
}
_SOME_REJECTED = {
    "batch_id": 413,
    "stored": 1,
    "duplicate": 0,
    "rejected": 1,
    "results": [
        {"record": 0, "result": "stored"},
        {
            "record": 1,
            "result": "rejected",
            "problems": [
                {"record": 1, "field": "output_tokens", "code": "negative", "message": "-4 is below 0: leave it out"}
            ],
        },
    ],
}


def _body(record: dict[str, object]) -> OpenApiRequest:
    shape: s.Shape = {
        "description": "NDJSON (one record a line), a JSON array, or one object. The media type is not looked at.",
        "oneOf": [{"type": "array", "items": {"type": ["object", "null"]}}, {"type": "object"}],
    }
    return OpenApiRequest(shape, examples=[OpenApiExample("array", value=[record], media_type="application/json")])


def _responses() -> dict[object, OpenApiResponse]:
    return {
        200: answer("BatchResult", "Every record is stored or was there already.", _ALL_STORED),
        207: answer("BatchResult", "Some records were rejected; their neighbours are stored.", _SOME_REJECTED),
        **failures(400, 401, 403, 411, 413, 415, 422, 503),
    }


INGEST_REQUESTS = extend_schema_view(
    post=extend_schema(
        operation_id="ingest_requests",
        summary="Send request records",
        description=(
            "Scope ingest. Our own record format, or the StandardLoggingPayload of LiteLLM's generic_api callback."
            " Sending a record twice stores it once. Prompts and answers are dropped at the door."
        ),
        parameters=[_FORMAT, _RESULTS, _ENCODING],
        request={"application/json": _body(_REQUEST_RECORD)},
        responses=_responses(),
    )
)
INGEST_OUTCOMES = extend_schema_view(
    post=extend_schema(
        operation_id="ingest_outcomes",
        summary="Send task outcomes",
        description="Scope ingest. The decision with the newest decided_at counts; every one is kept.",
        parameters=[_RESULTS, _ENCODING],
        request={"application/json": _body(_OUTCOME_RECORD)},
        responses=_responses(),
    )
)
