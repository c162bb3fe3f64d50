"""Cost per accepted task: cohorts of tasks out of the facts, their money out of the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.attribution.domain.bridge import TaskCostRow, TaskCounts, is_pending, task_cost_row
from apps.attribution.domain.costs import Sum
from apps.attribution.domain.task_cost import Kind
from apps.attribution.models import TaskCost
from apps.attribution.selectors.sql import bucket_sql, group_sql, ids_sql, together, where_sql
from apps.attribution.selectors.waiting import COHORT_DIMENSIONS, hour_of, waiting_tasks
from apps.catalog import selectors as catalog
from apps.core.query import Ask, Bucket, Dimension, Filters
from apps.core.time import HOUR, Window, day_floor, hour_floor
from apps.core.vocabulary import Decision
from apps.rollups import selectors as rollups
from apps.rollups.domain.facts import Cohort

DEFAULT_DECISION_WINDOW_HOURS = 72
"""For tasks whose endpoint is not in the catalog; the same as the catalog's own default."""

_Key = tuple[datetime | None, tuple[int, ...]]
_Sums = dict[tuple[bool, Kind], Sum]


def task_costs(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008
    now: datetime,
) -> list[TaskCostRow]:
    """Tasks whose first request lies in an hour that starts in `window`, and what they cost whenever that was.

    Dimensions are those of the task's first request: team, endpoint, model; others raise ValueError. Sorted by
    bucket and ids. Without `group_by` and with bucket 'total' there is always one row.
    """
    return task_costs_of([Ask(window, group_by, bucket)], filters, now)[0]


def task_costs_of(asks: Sequence[Ask], filters: Filters, now: datetime) -> list[list[TaskCostRow]]:
    """The rows of each ask, all read together."""
    for ask in asks:
        group_sql(ask.group_by, COHORT_DIMENSIONS)
    decision_windows = {endpoint.id: endpoint.decision_window_hours for endpoint in catalog.endpoints()}
    counts = _counts(asks, filters, decision_windows, now)
    sums = _sums(asks, filters, decision_windows, now)
    waiting = [
        cell for cell in waiting_tasks(_around(asks), filters, now) if not _may_be_decided(cell, decision_windows, now)
    ]
    return [_rows(*of_ask, waiting) for of_ask in zip(asks, counts, sums, strict=True)]


def _around(asks: Sequence[Ask]) -> Window:
    return Window(min(ask.window.start for ask in asks), max(ask.window.end for ask in asks))


def _may_be_decided(cohort: Cohort, decision_windows: Mapping[int, int], now: datetime) -> bool:
    hours = decision_windows.get(cohort.ids["endpoint"], DEFAULT_DECISION_WINDOW_HOURS)
    return cohort.decision == Decision.UNDECIDED and is_pending(hour_of(cohort), hours, now)


def _rows(
    ask: Ask, counts: Mapping[_Key, TaskCounts], sums: Mapping[_Key, _Sums], waiting: Sequence[Cohort]
) -> list[TaskCostRow]:
    keys = set(counts) | set(sums)
    if not ask.group_by and ask.bucket == "total":
        keys.add((None, ()))
    waits: defaultdict[_Key, int] = defaultdict(int)
    for cohort in waiting:
        if ask.window.start <= hour_of(cohort) < ask.window.end:
            key = _bucket_of(hour_of(cohort), ask.bucket), tuple(cohort.ids[d] for d in ask.group_by)
            waits[key] += cohort.tasks
    return [
        task_cost_row(
            key[0],
            dict(zip(ask.group_by, key[1], strict=True)),
            counts.get(key, TaskCounts()),
            sums.get(key, {}),
            waiting=waits.get(key, 0),
        )
        for key in sorted(keys, key=lambda key: (str(key[0] or ""), key[1]))
    ]


def _counts(
    asks: Sequence[Ask], filters: Filters, decision_windows: Mapping[int, int], now: datetime
) -> list[dict[_Key, TaskCounts]]:
    """Tasks by what became of them, for each ask."""
    young = [_young(ask, decision_windows, now) for ask in asks]
    found = rollups.cohorts_of([*asks, *young], filters)
    out = []
    for ask, cohorts, undecided in zip(asks, found, found[len(asks) :], strict=False):
        counts: defaultdict[_Key, TaskCounts] = defaultdict(TaskCounts)
        for row in cohorts:
            key = row.bucket, tuple(row.ids[dimension] for dimension in ask.group_by)
            have = counts[key]
            field = _FIELD[Decision(row.decision)]
            counts[key] = replace(
                have,
                **{field: getattr(have, field) + row.tasks},
                retried=have.retried + row.retried_tasks,
                escalated=have.escalated + row.escalated_tasks,
                review_minutes=have.review_minutes + row.review_minutes,
            )
        for key, tasks in _pending(ask, undecided, decision_windows, now).items():
            counts[key] = replace(counts[key], expired=counts[key].expired - tasks, pending=tasks)
        out.append(dict(counts))
    return out


_FIELD = {
    Decision.UNDECIDED: "expired",  # those that may still be decided are taken out again
    Decision.ACCEPTED: "accepted",
    Decision.REWORKED: "reworked",
    Decision.REJECTED: "rejected",
}


def _young(ask: Ask, decision_windows: Mapping[int, int], now: datetime) -> Ask:
    """The hours of the ask that are young enough for the longest decision window, each by itself, by endpoint."""
    longest = max([*decision_windows.values(), DEFAULT_DECISION_WINDOW_HOURS])
    start = min(max(ask.window.start, hour_floor(now) - (longest + 1) * HOUR), ask.window.end)
    by: tuple[Dimension, ...] = ask.group_by if "endpoint" in ask.group_by else (*ask.group_by, "endpoint")
    return Ask(Window(start, ask.window.end), by, "hour")


def _pending(
    ask: Ask, cohorts: Sequence[Cohort], decision_windows: Mapping[int, int], now: datetime
) -> dict[_Key, int]:
    """Undecided tasks inside their endpoint's decision window."""
    pending: defaultdict[_Key, int] = defaultdict(int)
    for row in cohorts:
        hours = decision_windows.get(row.ids["endpoint"], DEFAULT_DECISION_WINDOW_HOURS)
        if row.decision != Decision.UNDECIDED or row.bucket is None or not is_pending(row.bucket, hours, now):
            continue
        key = _bucket_of(row.bucket, ask.bucket), tuple(row.ids[dimension] for dimension in ask.group_by)
        pending[key] += row.tasks
    return pending


def _bucket_of(hour: datetime, bucket: Bucket) -> datetime | None:
    return {"total": None, "hour": hour, "day": day_floor(hour)}[bucket]


def _sums(
    asks: Sequence[Ask], filters: Filters, decision_windows: Mapping[int, int], now: datetime
) -> list[dict[_Key, _Sums]]:
    """Money by (pending, kind), for each ask."""
    ends: list[Any] = [now, list(decision_windows), list(decision_windows.values())]
    out: list[defaultdict[_Key, _Sums]] = [defaultdict(dict) for _ in asks]
    for row in together([_query(ask, filters, ends) for ask in asks], sorted_by=5):
        number, start, ids, pending, kind, amount, lines, unpriced, reason, low, high = row
        key = start, tuple(ids)
        out[number][key][pending, Kind(kind)] = Sum(Decimal(amount), lines, unpriced, reason, (low, high))
    return [dict(found) for found in out]


def _query(ask: Ask, filters: Filters, ends: Sequence[Any]) -> tuple[str, list[Any]]:
    condition, values = where_sql(ask.window, filters, "cohort_hour", COHORT_DIMENSIONS)
    sql = f"""
        SELECT {bucket_sql(ask.bucket, "cohort_hour")}, {ids_sql(ask.group_by, COHORT_DIMENSIONS)},
            decision = {int(Decision.UNDECIDED)}
                AND cohort_hour + interval '1 hour' * (1 + coalesce(d.hours, {DEFAULT_DECISION_WINDOW_HOURS})) > %s,
            kind, coalesce(sum(amount), 0), count(*), count(*) FILTER (WHERE amount IS NULL),
            coalesce(min(reason) FILTER (WHERE amount IS NULL), ''),
            coalesce(min(nullif(currency, '')), ''), coalesce(max(currency), '')
        FROM {TaskCost._meta.db_table} c
        LEFT JOIN unnest(%s::int[], %s::int[]) AS d (decision_endpoint_id, hours)
            ON d.decision_endpoint_id = c.endpoint_id
        WHERE {condition}
        GROUP BY 1, 2, 3, 4
    """
    return sql, [*ends, *values]
