"""GET /api/v1/costs, described."""

from __future__ import annotations

from collections.abc import Iterable

from drf_spectacular.utils import extend_schema, extend_schema_view

from apps.api.domain.parameters import Accepted
from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures, grouped, page
from apps.api.schema.parameters import parameters
from apps.core.query import DIMENSIONS
from apps.core.vocabulary import Component, StatusGroup, Word, Work

ACCEPTED = Accepted(group_by=DIMENSIONS, filters=DIMENSIONS, bucketed=True, paged=True)


def _parts(description: str, words: Iterable[Word]) -> s.Shape:
    return s.thing(description, {word.word: s.decimal_or_null("Null where nothing of it is priced.") for word in words})


ROW = grouped(
    "What a group cost in a bucket. Lines without a price are in no amount: partial and unpriced_* say so.",
    ACCEPTED,
    {
        "currency": s.text_or_null("ISO 4217; null without a priced line, or where currencies differ."),
        **s.with_reason(
            "cost", "Allocation basis: shared + unattributed + idle + load + down; reconciles with the bill."
        ),
        **s.with_reason("usage_cost", "Usage basis: the busy part alone, shared + unattributed."),
        **s.with_reason("utilisation", "usage_cost / cost, a ratio."),
        "cost_by_component": s.ref("CostByComponent"),
        "shared_cost_by_work": s.ref("SharedCostByWork"),
        "shared_cost_by_status": s.ref("SharedCostByStatus"),
        **s.with_reason("waste_cost", "Of the shared cost, all but first tries that ended well."),
        **s.with_reason("estimated_cost", "Of cost, what rests on token weights instead of request times."),
        "gpu_seconds": s.decimal("GPU-seconds of the lines, priced or not."),
        "replica_seconds": s.decimal("Seconds of replicas, whatever they hold."),
        "unpriced_gpu_seconds": s.decimal("Of gpu_seconds, those without a price."),
        "unpriced_replica_seconds": s.decimal("Of replica_seconds, those without a price."),
        "partial": s.boolean("Some lines are priced and some are not."),
        "unpriced_reason": s.text_or_null("Why there are lines without a price."),
    },
)
COMPONENTS = {
    "CostByComponent": _parts("The five add up to cost.", Component),
    "SharedCostByWork": _parts("The shared part by why attempts were made.", Work),
    "SharedCostByStatus": _parts("The shared part by how attempts ended.", StatusGroup),
    "CostRow": ROW,
    "CostPage": page(
        "Costs, one row a group and bucket.", "CostRow", DIMENSIONS, basis=s.word("The basis of cost.", "allocation")
    ),
}

EXAMPLE = {
    "window": {"from": "2026-11-30T14:00:00Z", "to": "2026-11-30T15:00:00Z"},
    "bucket": "total",
    "group_by": ["team"],
    "filters": {},
    "basis": "allocation",
    "rows": [
        {
            "bucket": None,
            "team": {"id": 3, "slug": "support", "name": "Support", "claimed": True},
            "currency": "USD",
            "cost": "2.500000",
            "cost_reason": None,
            "usage_cost": "1.875000",
            "usage_cost_reason": None,
            "utilisation": "0.750000",
            "utilisation_reason": None,
            "cost_by_component": {
                "shared": "1.875000", "unattributed": "0", "idle": "0.625000", "load": "0", "down": "0",
            },
            "shared_cost_by_work": {"first": "1.800000", "retry": "0.075000", "fallback": "0", "escalation": "0"},
            "shared_cost_by_status": {"ok": "1.875000", "failed": "0", "aborted": "0", "rejected": "0"},
            "waste_cost": "0.075000",
            "waste_cost_reason": None,
            "estimated_cost": "0",
            "estimated_cost_reason": None,
            "gpu_seconds": "3600.000000000",
            "replica_seconds": "3600.000000000",
            "unpriced_gpu_seconds": "0",
            "unpriced_replica_seconds": "0",
            "partial": False,
            "unpriced_reason": None,
        }
    ],
    "next_cursor": None,
}  # fmt: skip

COSTS = extend_schema_view(
    get=extend_schema(
        operation_id="costs",
        summary="Costs by team, endpoint, model, replica, key and time",
        description=(
            "Scope read. Sums of ledger lines. Idle, load and down belong to the team that owns the deployment and have"
            " no endpoint and no key, so that a filter on those leaves them out."
        ),
        parameters=parameters(ACCEPTED),
        responses={200: answer("CostPage", "One page.", EXAMPLE), **failures(400, 401, 403, 503)},
    )
)
