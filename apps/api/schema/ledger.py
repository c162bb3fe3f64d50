"""GET /api/v1/ledger, described."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view

from apps.api.domain.parameters import Accepted
from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures
from apps.api.schema.parameters import parameters
from apps.core.query import DIMENSIONS
from apps.core.vocabulary import Component, StatusGroup, Tier, Traffic, Work

ACCEPTED = Accepted(filters=DIMENSIONS, paged=True)

ROW = s.thing(
    "One line: an amount, and what it pays for. The lines of a replica-hour add up to what it cost, exactly.",
    {
        "hour": s.moment("The UTC hour."),
        "line": s.integer("Place in the hour: stable for the same facts and prices."),
        "component": s.word("What part of the replica-hour it pays for.", *Component.words()),
        **{dimension: s.ref("Noun") for dimension in DIMENSIONS},
        "deployment": s.ref("Noun"),
        "gpu_type": s.ref("Noun"),
        "work": s.word("Why the attempts were made; first for lines that are not shared.", *Work.words()),
        "status_group": s.word("How they ended; ok for lines that are not shared.", *StatusGroup.words()),
        "traffic": s.word("Traffic class; user for lines that are not shared.", *Traffic.words()),
        "tier": s.word("The evidence behind the line, best first.", *Tier.words()),
        "replica_seconds": s.decimal("Seconds of the replica."),
        "gpu_seconds": s.decimal_or_null("Null where it is not known how many GPUs the replica holds."),
        "cost": s.decimal_or_null("Null where no price is known: reason says why."),
        "currency": s.text_or_null("ISO 4217."),
        "price_id": {"type": ["integer", "null"], "description": "The price in the catalog, as it was then."},
        "price_per_gpu_hour": s.decimal_or_null("As applied."),
        "reason": s.text_or_null("Why the cost is not known, or a remark."),
    },
)
COMPONENTS = {
    "LedgerLine": ROW,
    "LedgerPage": s.thing(
        "Ledger lines.",
        {
            "window": s.ref("Window"),
            "filters": {
                "type": "object",
                "additionalProperties": s.many({"type": "string"}, "Slugs."),
                "description": "As asked.",
            },
            "rows": s.many(s.ref("LedgerLine"), "By hour and line."),
            "next_cursor": s.text_or_null("For the next page; null on the last one."),
        },
    ),
}

LEDGER = extend_schema_view(
    get=extend_schema(
        operation_id="ledger",
        summary="The lines behind every cost",
        description="Scope read. Sums over all pages of the same question tie with the costs endpoint.",
        parameters=parameters(ACCEPTED),
        responses={200: answer("LedgerPage", "One page."), **failures(400, 401, 403, 503)},
    )
)
