"""Cost per accepted task: cohorts of tasks out of the facts, their money out of the ledger."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.attribution.domain.bridge import TaskCostRow, TaskCounts, is_pending, task_cost_row
from apps.attribution.domain.costs import Sum
from apps.attribution.domain.task_cost import Kind
from apps.attribution.models import TaskCost
from apps.attribution.selectors.checks import hours_without_ledger
from apps.attribution.selectors.sql import bucket_sql, group_sql, rows_of, where_sql
from apps.catalog import selectors as catalog
from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import HOUR, Window, day_floor, hour_floor
from apps.core.vocabulary import Decision
from apps.rollups import selectors as rollups

COHORT_DIMENSIONS: tuple[Dimension, ...] = ("team", "endpoint", "model")
DEFAULT_DECISION_WINDOW_HOURS = 72
"""For tasks whose endpoint is not in the catalog; the same as the catalog's own default."""

_Key = tuple[datetime | None, tuple[int, ...]]


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
    group_sql(group_by, COHORT_DIMENSIONS)
    decision_windows = {endpoint.id: endpoint.decision_window_hours for endpoint in catalog.endpoints()}
    counts = _counts(window, group_by, bucket, filters, decision_windows, now)
    sums = _sums(window, group_by, bucket, filters, decision_windows, now)
    keys = set(counts) | set(sums)
    if not group_by and bucket == "total":
        keys.add((None, ()))
    attributed = not hours_without_ledger(window=window)
    return [
        task_cost_row(
            key[0],
            dict(zip(group_by, key[1], strict=True)),
            counts.get(key, TaskCounts()),
            sums.get(key, {}),
            attributed=attributed,
        )
        for key in sorted(keys, key=lambda key: (str(key[0] or ""), key[1]))
    ]


def _counts(
    window: Window,
    group_by: tuple[Dimension, ...],
    bucket: Bucket,
    filters: Filters,
    decision_windows: dict[int, int],
    now: datetime,
) -> dict[_Key, TaskCounts]:
    counts: defaultdict[_Key, TaskCounts] = defaultdict(TaskCounts)
    for row in rollups.cohorts(window=window, group_by=group_by, bucket=bucket, filters=filters):
        key = row.bucket, tuple(row.ids[dimension] for dimension in group_by)
        have = counts[key]
        field = _FIELD[Decision(row.decision)]
        counts[key] = replace(
            have,
            **{field: getattr(have, field) + row.tasks},
            retried=have.retried + row.retried_tasks,
            escalated=have.escalated + row.escalated_tasks,
            review_minutes=have.review_minutes + row.review_minutes,
        )
    for key, tasks in _pending(window, group_by, bucket, filters, decision_windows, now).items():
        counts[key] = replace(counts[key], expired=counts[key].expired - tasks, pending=tasks)
    return counts


_FIELD = {
    Decision.UNDECIDED: "expired",  # those that may still be decided are taken out again
    Decision.ACCEPTED: "accepted",
    Decision.REWORKED: "reworked",
    Decision.REJECTED: "rejected",
}


def _pending(
    window: Window,
    group_by: tuple[Dimension, ...],
    bucket: Bucket,
    filters: Filters,
    decision_windows: dict[int, int],
    now: datetime,
) -> dict[_Key, int]:
    """Undecided tasks inside their endpoint's decision window; only hours young enough for the longest are read."""
    longest = max([*decision_windows.values(), DEFAULT_DECISION_WINDOW_HOURS])
    start = max(window.start, hour_floor(now) - (longest + 1) * HOUR)
    pending: defaultdict[_Key, int] = defaultdict(int)
    if start >= window.end:
        return pending
    by: tuple[Dimension, ...] = group_by if "endpoint" in group_by else (*group_by, "endpoint")
    for row in rollups.cohorts(window=Window(start, window.end), group_by=by, bucket="hour", filters=filters):
        hours = decision_windows.get(row.ids["endpoint"], DEFAULT_DECISION_WINDOW_HOURS)
        if row.decision != Decision.UNDECIDED or row.bucket is None or not is_pending(row.bucket, hours, now):
            continue
        pending[_bucket_of(row.bucket, bucket), tuple(row.ids[dimension] for dimension in group_by)] += row.tasks
    return pending


def _bucket_of(hour: datetime, bucket: Bucket) -> datetime | None:
    return {"total": None, "hour": hour, "day": day_floor(hour)}[bucket]


def _sums(
    window: Window,
    group_by: tuple[Dimension, ...],
    bucket: Bucket,
    filters: Filters,
    decision_windows: dict[int, int],
    now: datetime,
) -> dict[_Key, dict[tuple[bool, Kind], Sum]]:
    """Money by (pending, kind)."""
    columns = group_sql(group_by, COHORT_DIMENSIONS)
    condition, values = where_sql(window, filters, "cohort_hour", COHORT_DIMENSIONS)
    places = ", ".join(str(n) for n in range(1, len(columns) + 4))
    sql = f"""
        SELECT {bucket_sql(bucket, "cohort_hour")}, {", ".join([f"c.{c}" for c in columns] + [""])}
            decision = {int(Decision.UNDECIDED)}
                AND cohort_hour + interval '1 hour' * (1 + coalesce(d.hours, {DEFAULT_DECISION_WINDOW_HOURS})) > %s,
            kind, coalesce(sum(amount), 0), count(*), count(*) FILTER (WHERE amount IS NULL),
            coalesce(min(reason) FILTER (WHERE amount IS NULL), ''),
            coalesce(min(nullif(currency, '')), ''), coalesce(max(currency), '')
        FROM {TaskCost._meta.db_table} c
        LEFT JOIN unnest(%s::int[], %s::int[]) AS d (decision_endpoint_id, hours)
            ON d.decision_endpoint_id = c.endpoint_id
        WHERE {condition}
        GROUP BY {places}
    """
    windows: list[Any] = [list(decision_windows), list(decision_windows.values())]
    out: defaultdict[_Key, dict[tuple[bool, Kind], Sum]] = defaultdict(dict)
    for row in rows_of(sql, [now, *windows, *values]):
        start, *rest = row
        ids, (pending, kind, amount, lines, unpriced, reason, low, high) = rest[: len(columns)], rest[len(columns) :]
        out[start, tuple(ids)][pending, Kind(kind)] = Sum(Decimal(amount), lines, unpriced, reason, (low, high))
    return out
