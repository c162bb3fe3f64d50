"""Turns the shared lines of one hour into what the tasks of each cohort used, and review minutes into money."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from apps.attribution.domain.lines import Line
from apps.attribution.domain.weights import Dimensions, dimensions_of
from apps.catalog.domain.prices import PriceAt, PriceBook
from apps.core.money import from_quanta, quantize, split_quanta
from apps.core.vocabulary import Component, Work
from apps.rollups.domain.facts import CohortRow, TaskShareRow, UsageFact


class Kind(StrEnum):
    """Why a task cost what it cost: the spans of the cost bridge."""

    FIRST = "first"
    RETRY = "retry"
    FALLBACK = "fallback"
    ESCALATION = "escalation"
    REVIEW = "review"


KIND_OF_WORK = {
    Work.FIRST: Kind.FIRST,
    Work.RETRY: Kind.RETRY,
    Work.FALLBACK: Kind.FALLBACK,
    Work.ESCALATION: Kind.ESCALATION,
}

BY_TOKENS = "shared by tokens only: which task used how much is not known"


@dataclass(frozen=True, slots=True)
class TaskCostLine:
    """Money that the tasks of one cohort and decision cost in one hour; None, with a `reason`, where not known."""

    cohort_hour: datetime
    team_id: int
    endpoint_id: int
    model_id: int
    decision: int
    kind: Kind
    amount: Decimal | None
    currency: str
    reason: str
    price_id: int | None


_Cohort = tuple[datetime, int, int, int, int]
_Price = tuple[str, str, int | None]


def task_costs_of_hour(
    lines: Iterable[Line], usage: Sequence[UsageFact], task_shares: Iterable[TaskShareRow]
) -> list[TaskCostLine]:
    """Each shared line divided over the tasks behind it by their share units, summed by cohort, decision and kind.

    The part of a line that belongs to no task stays untasked and is in no row, so that the rows of a line sum to at
    most the line, and to the line exactly where every request names its task.
    """
    units = {dimensions_of(row): row.share_units for row in usage}
    shares = _by_dimensions(task_shares)
    known: defaultdict[tuple[_Cohort, Kind, _Price], int] = defaultdict(int)
    unknown: set[tuple[_Cohort, Kind, _Price]] = set()
    for line in lines:
        key = _dimensions_of_line(line)
        rows = shares.get(key)
        if line.component != Component.SHARED or not rows:
            continue
        kind = KIND_OF_WORK[Work(line.work)]
        parts = None if line.quanta is None else _divided(line.quanta, units[key], rows)
        if parts is None:
            reason = line.reason if line.quanta is None else BY_TOKENS
            unknown.update((cohort, kind, (line.currency, reason, line.price_id)) for cohort, _ in rows)
            continue
        for (cohort, _), quanta in zip(rows, parts, strict=False):
            known[cohort, kind, (line.currency, "", line.price_id)] += quanta
    costs = [_task_cost(*key, from_quanta(quanta)) for key, quanta in known.items()]
    costs += [_task_cost(*key, None) for key in unknown]
    return sorted(costs, key=_order)


def review_costs_of_hour(cohorts: Iterable[CohortRow], book: PriceBook) -> list[TaskCostLine]:
    """Review minutes of each cohort at the reviewer's price at the start of the cohort's hour."""
    costs = []
    for row in cohorts:
        if not row.review_minutes:
            continue
        price = book.reviewer_hour(row.endpoint_id, row.cohort_hour)
        cohort = (row.cohort_hour, row.team_id, row.endpoint_id, row.model_id, row.decision)
        if isinstance(price, PriceAt):
            amount = quantize(row.review_minutes * price.amount / 60)
            costs.append(_task_cost(cohort, Kind.REVIEW, (price.currency, "", price.id), amount))
        else:
            costs.append(_task_cost(cohort, Kind.REVIEW, ("", price.reason, None), None))
    return sorted(costs, key=_order)


def _by_dimensions(task_shares: Iterable[TaskShareRow]) -> Mapping[Dimensions, list[tuple[_Cohort, int]]]:
    out: defaultdict[Dimensions, list[tuple[_Cohort, int]]] = defaultdict(list)
    for row in task_shares:
        key = (
            row.team_id, row.endpoint_id, row.model_id, row.replica_id,
            row.key_id, row.work, row.status_group, row.traffic,
        )  # fmt: skip
        cohort = (
            row.cohort_hour, row.cohort_team_id, row.cohort_endpoint_id, row.cohort_model_id, row.decision,
        )  # fmt: skip
        out[key].append((cohort, row.share_units))
    for rows in out.values():
        rows.sort()
    return out


def _divided(quanta: int, units: int, rows: Sequence[tuple[_Cohort, int]]) -> list[int] | None:
    """The parts of `quanta` of `rows`, then what is nobody's task; None if no share is known, by time or otherwise."""
    weights = [share for _, share in rows]
    if not units and not any(weights):
        return None
    return split_quanta(quanta, [*weights, max(0, units - sum(weights))])


def _dimensions_of_line(line: Line) -> Dimensions:
    return (
        line.team_id, line.endpoint_id, line.model_id, line.replica_id,
        line.key_id, line.work, line.status_group, line.traffic,
    )  # fmt: skip


def _task_cost(cohort: _Cohort, kind: Kind, price: _Price, amount: Decimal | None) -> TaskCostLine:
    hour, team_id, endpoint_id, model_id, decision = cohort
    currency, reason, price_id = price
    return TaskCostLine(hour, team_id, endpoint_id, model_id, decision, kind, amount, currency, reason, price_id)


def _order(cost: TaskCostLine) -> tuple[object, ...]:
    return (
        cost.cohort_hour, cost.team_id, cost.endpoint_id, cost.model_id, cost.decision,
        cost.kind, cost.price_id or 0, cost.currency, cost.reason,
    )  # fmt: skip
