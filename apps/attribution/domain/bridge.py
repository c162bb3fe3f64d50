"""Turns counts of tasks and what they cost into the bridge from compute to cost per accepted task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from apps.attribution.domain.costs import NOTHING, Money, Sum, added, money
from apps.attribution.domain.task_cost import Kind
from apps.core.query import Dimension
from apps.core.time import HOUR
from apps.core.unknown import Unknown

SMALL_SAMPLE = 30
"""Fewer accepted tasks than this make a unit cost that the next few tasks can move a lot."""

NO_ACCEPTED_TASKS = Unknown("no accepted tasks")
NO_DECIDED_TASKS = Unknown("no decided tasks")
NOT_ATTRIBUTED = "the hours of these tasks are not attributed yet"
SOME_NOT_ATTRIBUTED = "the hours of {:,} of {:,} decided tasks are not attributed yet"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Tasks by what became of them. `accepted` are those without rework."""

    accepted: int = 0
    reworked: int = 0
    rejected: int = 0
    expired: int = 0
    pending: int = 0
    retried: int = 0
    escalated: int = 0
    review_minutes: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class TaskCostRow:
    """What the tasks of one group and bucket (of their first request's hour) cost, and what one accepted task did.

    The parts are costs of decided tasks, expired ones included, on the usage basis; they add up to `total`.
    Pending tasks are in `pending_cost` alone. Where lines without a price, or not attributed yet, are left out,
    `partial` is true and `reason` says why; a part of which nothing is priced is unknown. Unknown serving or unknown
    review makes the total unknown.
    """

    bucket: datetime | None
    ids: dict[Dimension, int]
    tasks: int
    accepted: int
    reworked: int
    rejected: int
    expired: int
    pending: int
    retried: int
    escalated: int
    review_minutes: Decimal
    compute: Money
    retries: Money
    fallbacks: Money
    escalations: Money
    review: Money
    serving: Money
    total: Money
    pending_cost: Money
    cost_per_accepted: Money
    serving_per_accepted: Money
    acceptance_rate: Money
    currency: str
    partial: bool
    reason: str
    basis: str = "usage"

    @property
    def decided(self) -> int:
        return self.tasks - self.pending

    @property
    def small_sample(self) -> bool:
        return self.accepted < SMALL_SAMPLE


def is_pending(cohort_hour: datetime, decision_window_hours: int, now: datetime) -> bool:
    """Whether an undecided task may still be decided in time; the whole hour of the cohort waits for its last task."""
    return cohort_hour + HOUR + timedelta(hours=decision_window_hours) > now


def task_cost_row(
    bucket: datetime | None,
    ids: dict[Dimension, int],
    counts: TaskCounts,
    costs: Mapping[tuple[bool, Kind], Sum],
    *,
    waiting: int = 0,
) -> TaskCostRow:
    """One row; `costs` by (pending, kind). `waiting`: decided tasks whose cost is not, or not wholly, in `costs`."""
    parts = {kind: costs.get((False, kind), NOTHING) for kind in Kind}
    serving_sum = added(part for kind, part in parts.items() if kind != Kind.REVIEW)
    total_sum = added(parts.values())
    decided = counts.accepted + counts.reworked + counts.rejected + counts.expired
    waits = decided > 0 and waiting > 0
    amounts = {kind: money(part) for kind, part in parts.items()}
    serving = money(serving_sum)
    if waits and not serving_sum.lines:
        serving = Unknown(NOT_ATTRIBUTED)
        amounts |= dict.fromkeys((kind for kind in Kind if kind != Kind.REVIEW), serving)
    if waits and counts.review_minutes and not parts[Kind.REVIEW].lines:
        amounts[Kind.REVIEW] = Unknown(NOT_ATTRIBUTED)
    total = next((part for part in (serving, amounts[Kind.REVIEW]) if isinstance(part, Unknown)), money(total_sum))
    low, high = total_sum.currencies
    return TaskCostRow(
        bucket=bucket,
        ids=ids,
        tasks=decided + counts.pending,
        accepted=counts.accepted,
        reworked=counts.reworked,
        rejected=counts.rejected,
        expired=counts.expired,
        pending=counts.pending,
        retried=counts.retried,
        escalated=counts.escalated,
        review_minutes=counts.review_minutes,
        compute=amounts[Kind.FIRST],
        retries=amounts[Kind.RETRY],
        fallbacks=amounts[Kind.FALLBACK],
        escalations=amounts[Kind.ESCALATION],
        review=amounts[Kind.REVIEW],
        serving=serving,
        total=total,
        pending_cost=money(added(part for (pending, _), part in costs.items() if pending)),
        cost_per_accepted=_per_accepted(total, counts.accepted),
        serving_per_accepted=_per_accepted(serving, counts.accepted),
        acceptance_rate=Decimal(counts.accepted) / decided if decided else NO_DECIDED_TASKS,
        currency=low if low == high else "",
        partial=total_sum.unpriced_lines > 0 or waits,
        reason=total_sum.reason or (SOME_NOT_ATTRIBUTED.format(waiting, decided) if waits else ""),
    )


def _per_accepted(amount: Money, accepted: int) -> Money:
    if accepted == 0:
        return NO_ACCEPTED_TASKS
    return amount if isinstance(amount, Unknown) else amount / accepted
