"""GET /api/v1/usage, described."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view

from apps.api.domain.parameters import Accepted
from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures, grouped, page
from apps.api.schema.parameters import parameters
from apps.core.query import DIMENSIONS
from apps.core.vocabulary import Status

ACCEPTED = Accepted(group_by=DIMENSIONS, filters=DIMENSIONS, bucketed=True, paged=True)

LATENCY = s.thing(
    "Percentiles by nearest rank over all values of the row, each within 0.5 %. Null without a value.",
    {
        "count": s.integer("Values behind the percentiles."),
        "p50": s.number_or_null("Seconds."),
        "p95": s.number_or_null("Seconds."),
        "p99": s.number_or_null("Seconds."),
        "reason": s.text_or_null("Why there is no value."),
    },
)
STATUSES = s.thing(
    "Attempts by how they ended; the seven add up to attempts.",
    {status.word: s.integer(f"Attempts that ended as {status.word}.") for status in Status},
)
ROW = grouped(
    "Attempts that started in the bucket.",
    ACCEPTED,
    {
        "attempts": s.integer("Attempts of requests: retries and fallbacks count each."),
        "attempts_by_status": s.ref("AttemptsByStatus"),
        "client_requests": s.integer("Distinct requests of clients, counted where their last attempt is."),
        "failed_client_requests": s.integer("Of those, the ones whose last attempt failed on our side."),
        "streamed_attempts": s.integer("Attempts that were streamed."),
        "attempts_without_token_counts": s.integer("Answered, but the source gave no token numbers: not in the sums."),
        "input_tokens": s.integer("Prompt tokens, cached ones included."),
        "cache_read_tokens": s.integer("Of the input, read from a prompt cache."),
        "cache_write_tokens": s.integer("Of the input, written to a prompt cache."),
        "output_tokens": s.integer("Generated tokens, reasoning included."),
        "reasoning_tokens": s.integer("Of the output, reasoning."),
        "ttft_seconds": s.ref("Latency"),
        "itl_seconds": s.ref("Latency"),
        "e2e_seconds": s.ref("Latency"),
        "queue_seconds": s.ref("Latency"),
    },
)
COMPONENTS = {
    "Latency": LATENCY,
    "AttemptsByStatus": STATUSES,
    "UsageRow": ROW,
    "UsagePage": page("Usage, one row a group and bucket.", "UsageRow", DIMENSIONS),
}

_LATENCY = {"count": 181, "p50": 0.412, "p95": 1.93, "p99": 2.87, "reason": None}
EXAMPLE = {
    "window": {"from": "2026-11-23T15:00:00Z", "to": "2026-11-30T15:00:00Z"},
    "bucket": "total",
    "group_by": ["team"],
    "filters": {"team": ["support"]},
    "rows": [
        {
            "bucket": None,
            "team": {"id": 3, "slug": "support", "name": "Support", "claimed": True},
            "attempts": 204,
            "attempts_by_status": {
                "ok": 190, "client_error": 4, "rate_limited": 0, "server_error": 6, "timeout": 0, "aborted": 4,
                "partial": 0,
            },
            "client_requests": 198,
            "failed_client_requests": 1,
            "streamed_attempts": 185,
            "attempts_without_token_counts": 4,
            "input_tokens": 88102,
            "cache_read_tokens": 51200,
            "cache_write_tokens": 0,
            "output_tokens": 31877,
            "reasoning_tokens": 0,
            "ttft_seconds": _LATENCY,
            "itl_seconds": {**_LATENCY, "p50": 0.031, "p95": 0.058, "p99": 0.09},
            "e2e_seconds": {**_LATENCY, "count": 190, "p50": 5.2, "p95": 14.1, "p99": 19.7},
            "queue_seconds": {
                "count": 0, "p50": None, "p95": None, "p99": None,
                "reason": "no attempt whose source states a queue time",
            },
        }
    ],
    "next_cursor": None,
}  # fmt: skip

USAGE = extend_schema_view(
    get=extend_schema(
        operation_id="usage",
        summary="Attempts, tokens and latency",
        description="Scope read. Sums and percentiles of attempts by the hour in which they started.",
        parameters=parameters(ACCEPTED),
        responses={200: answer("UsagePage", "One page.", EXAMPLE), **failures(400, 401, 403, 503)},
    )
)
