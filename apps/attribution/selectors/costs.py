"""Sums of the ledger by dimension and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from apps.attribution.domain.costs import Cell, Cost, Sum, cost_of
from apps.attribution.models import LedgerLine
from apps.attribution.selectors.checks import attributed_hours
from apps.attribution.selectors.sql import bucket_sql, ids_sql, together, where_sql
from apps.core.query import Ask, Bucket, Dimension, Filters
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component, StatusGroup, Tier, Work

NO_LEDGER = Unknown("nothing is attributed in this range")

_SUMS = """
    coalesce(sum(amount), 0), count(*), count(*) FILTER (WHERE amount IS NULL),
    coalesce(min(reason) FILTER (WHERE amount IS NULL), ''),
    coalesce(min(nullif(currency, '')), ''), coalesce(max(currency), ''),
    sum(seconds), coalesce(sum(gpu_seconds), 0),
    coalesce(sum(seconds) FILTER (WHERE amount IS NULL), 0),
    coalesce(sum(gpu_seconds) FILTER (WHERE amount IS NULL), 0)
"""


def costs(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008
) -> list[Cost]:
    """Costs of the hours that start in `window`, by bucket and ids; groups without a line are left out.

    Without `group_by` and with bucket 'total' there is always one row; its amount is unknown if no hour of the window
    is attributed. Lines of idle, load and down have no endpoint and no key (id 0) and belong to the owner's team.
    """
    return costs_of([Ask(window, group_by, bucket)], filters)[0]


def costs_of(asks: Sequence[Ask], filters: Filters = Filters()) -> list[list[Cost]]:  # noqa: B008
    """The costs of each ask, all read with one query."""
    groups: list[defaultdict[tuple[datetime | None, tuple[int, ...]], list[Cell]]] = [defaultdict(list) for _ in asks]
    for number, start, ids, *cell in together([_query(ask, filters) for ask in asks], sorted_by=7):
        groups[number][start, tuple(ids)].append(_cell(cell))
    return [_costs(ask, found) for ask, found in zip(asks, groups, strict=True)]


def _query(ask: Ask, filters: Filters) -> tuple[str, list[Any]]:
    condition, values = where_sql(ask.window, filters, "hour")
    keys = f"{bucket_sql(ask.bucket, 'hour')}, {ids_sql(ask.group_by)}, component, work, status_group, tier"
    return (
        f"SELECT {keys}, {_SUMS} FROM {LedgerLine._meta.db_table} WHERE {condition} GROUP BY 1, 2, 3, 4, 5, 6",
        values,
    )


def _costs(ask: Ask, groups: Mapping[tuple[datetime | None, tuple[int, ...]], list[Cell]]) -> list[Cost]:
    if not groups and not ask.group_by and ask.bucket == "total":
        return [_nothing(ask.window)]
    return [cost_of(start, dict(zip(ask.group_by, ids, strict=True)), cells) for (start, ids), cells in groups.items()]


def _cell(row: list[Any]) -> Cell:
    component, work, status_group, tier, amount, lines, unpriced, reason, low, high, *seconds = row
    return Cell(
        Component(component),
        Work(work),
        StatusGroup(status_group),
        Tier(tier),
        Sum(amount, lines, unpriced, reason, (low, high)),
        *seconds,
    )


def _nothing(window: Window) -> Cost:
    """The row of a window in which no line is kept: nothing spent, or, without a ledger, unknown."""
    zero = cost_of(None, {}, [])
    if attributed_hours(window):
        return zero
    return replace(zero, amount=NO_LEDGER, usage_amount=NO_LEDGER, reason=NO_LEDGER.reason)
