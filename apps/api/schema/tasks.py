"""GET /api/v1/tasks, described."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view

from apps.api.domain.parameters import Accepted
from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures, grouped, page
from apps.api.schema.parameters import parameters
from apps.core.query import Dimension

COHORT: tuple[Dimension, ...] = ("team", "endpoint", "model")
ACCEPTED = Accepted(group_by=COHORT, filters=COHORT, bucketed=True, paged=True)

ROW = grouped(
    "Tasks whose first request lies in the bucket, and what they cost whenever that was. Costs are of decided tasks.",
    ACCEPTED,
    {
        "tasks": s.integer("decided_tasks + pending_tasks."),
        "decided_tasks": s.integer("accepted + reworked + rejected + expired."),
        "accepted_tasks": s.integer("Accepted without rework."),
        "reworked_tasks": s.integer("Accepted after somebody changed the result."),
        "rejected_tasks": s.integer("Rejected."),
        "expired_tasks": s.integer("Undecided past the endpoint's decision window: they count as not accepted."),
        "pending_tasks": s.integer("Undecided inside the window: in neither number of the unit cost."),
        "retried_tasks": s.integer("Tasks that the client tried more than once."),
        "escalated_tasks": s.integer("Tasks that the client took to another model."),
        **s.with_reason("acceptance_rate", "accepted_tasks / decided_tasks, a ratio."),
        "small_sample": s.boolean("Fewer than 30 accepted tasks: the unit cost may move a lot."),
        "review_minutes": s.decimal("Minutes that people reviewed."),
        "currency": s.text_or_null("ISO 4217; null without a priced part, or where currencies differ."),
        **s.with_reason("compute_cost", "First tries."),
        **s.with_reason("retries_cost", "The same model again."),
        **s.with_reason("fallbacks_cost", "The gateway went on to another model."),
        **s.with_reason("escalations_cost", "The client went on to another model."),
        **s.with_reason("review_cost", "review_minutes at the reviewer's price."),
        **s.with_reason("serving_cost", "compute + retries + fallbacks + escalations."),
        **s.with_reason("total_cost", "serving_cost + review_cost."),
        **s.with_reason("pending_cost", "What pending tasks have cost so far, in no other number."),
        **s.with_reason("cost_per_accepted_task", "total_cost / accepted_tasks."),
        **s.with_reason("serving_cost_per_accepted_task", "serving_cost / accepted_tasks."),
        "partial": s.boolean(
            "Some of the cost has no price, or is not attributed yet, and is left out: the rest is a lower bound."
        ),
        "unpriced_reason": s.text_or_null("Why some of the cost has no price, or is not attributed yet."),
    },
)
COMPONENTS = {
    "TaskRow": ROW,
    "TaskPage": page(
        "Cost per accepted task, one row a group and bucket.", "TaskRow", COHORT, basis=s.word("Of all costs.", "usage")
    ),
}

EXAMPLE = {
    "window": {"from": "2026-11-23T00:00:00Z", "to": "2026-11-30T00:00:00Z"},
    "bucket": "total",
    "group_by": ["endpoint"],
    "filters": {},
    "basis": "usage",
    "rows": [
        {
            "bucket": None,
            "endpoint": {"id": 2, "slug": "ticket-triage", "name": "Ticket triage", "claimed": True},
            "tasks": 60,
            "decided_tasks": 50,
            "accepted_tasks": 40,
            "reworked_tasks": 2,
            "rejected_tasks": 5,
            "expired_tasks": 3,
            "pending_tasks": 10,
            "retried_tasks": 6,
            "escalated_tasks": 1,
            "acceptance_rate": "0.800000",
            "acceptance_rate_reason": None,
            "small_sample": False,
            "review_minutes": "12.0000",
            "currency": "USD",
            "compute_cost": "3.000000",
            "compute_cost_reason": None,
            "retries_cost": "0.500000",
            "retries_cost_reason": None,
            "fallbacks_cost": "0",
            "fallbacks_cost_reason": None,
            "escalations_cost": "0.500000",
            "escalations_cost_reason": None,
            "review_cost": "12.000000",
            "review_cost_reason": None,
            "serving_cost": "4.000000",
            "serving_cost_reason": None,
            "total_cost": "16.000000",
            "total_cost_reason": None,
            "pending_cost": "0.800000",
            "pending_cost_reason": None,
            "cost_per_accepted_task": "0.400000000000",
            "cost_per_accepted_task_reason": None,
            "serving_cost_per_accepted_task": "0.100000000000",
            "serving_cost_per_accepted_task_reason": None,
            "partial": False,
            "unpriced_reason": None,
        }
    ],
    "next_cursor": None,
}

TASKS = extend_schema_view(
    get=extend_schema(
        operation_id="tasks",
        summary="Cost per accepted task",
        description=(
            "Scope read. (serving cost of all attempts of all decided tasks + review) / tasks accepted without rework,"
            " on the usage basis. Team, endpoint and model are those of the task's first request."
        ),
        parameters=parameters(ACCEPTED),
        responses={200: answer("TaskPage", "One page.", EXAMPLE), **failures(400, 401, 403, 503)},
    )
)
