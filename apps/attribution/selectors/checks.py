"""What the ledger rests on: whether its lines add up, which prices are assumed, what is missing, what cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.attribution.domain.allocate import NOBODY_TO_CHARGE
from apps.attribution.domain.findings import Finding, findings_of
from apps.attribution.models import AttributedHour, LedgerLine, TaskCost
from apps.attribution.selectors.sql import rows_of, where_sql
from apps.catalog import selectors as catalog
from apps.core.money import QUANTUM
from apps.core.query import Filters
from apps.core.time import Window
from apps.rollups import selectors as rollups
from apps.rollups.domain.facts import ReplicaHourRow


@dataclass(frozen=True, slots=True)
class Balance:
    """One replica-hour: what it held by the facts and what its lines say; its cost worked out again, and their sum.

    `cost` is None where some of its lines have no price.
    """

    hour: datetime
    replica_id: int
    held_seconds: Decimal
    line_seconds: Decimal
    cost: Decimal | None
    line_amount: Decimal | None
    balanced: bool


@dataclass(frozen=True, slots=True)
class Assumption:
    """A price without evidence that amounts in the window rest on. Id 0: no GPU type, every endpoint."""

    price_id: int
    kind: str
    gpu_type_id: int
    endpoint_id: int
    amount: Decimal
    currency: str
    source: str


def replica_hour_balance(*, window: Window) -> list[Balance]:
    """Every replica-hour of the attributed hours that start in `window`, by hour and replica."""
    condition, values = where_sql(window, Filters(), "hour")
    sql = f"""
        SELECT hour, replica_id, sum(seconds), bool_and(amount IS NOT NULL), sum(cost), sum(amount), sum(prices)
        FROM (
            SELECT hour, replica_id, price_id, sum(seconds) AS seconds, sum(amount) AS amount, 1 AS prices,
                CASE WHEN bool_and(amount IS NOT NULL)
                    THEN sum(gpu_seconds) * coalesce(min(price), 0) / 3600 END AS cost
            FROM {LedgerLine._meta.db_table} WHERE {condition}
            GROUP BY hour, replica_id, price_id
        ) AS priced
        GROUP BY hour, replica_id
    """
    found = {(row[0], row[1]): row[2:] for row in rows_of(sql, values)}
    attributed = set(attributed_hours(window))
    out = []
    for row in rollups.replica_hours(window):
        if row.hour not in attributed:
            continue
        seconds, priced, cost, amount, prices = found.get(
            (row.hour, row.replica_id), (Decimal(0), True, Decimal(0), Decimal(0), 1)
        )
        held = Decimal(row.held_us) / 10**6
        # One rounding for each price that held in the hour, and the ninth place of the GPU-seconds.
        allowed = prices * (QUANTUM / 2 + QUANTUM / 1000)
        balanced = seconds == held and (not priced or abs(cost - amount) <= allowed)
        out.append(Balance(row.hour, row.replica_id, held, seconds, cost if priced else None, amount, balanced))
    return out


def hours_without_ledger(*, window: Window) -> list[datetime]:
    """Folded hours of the window that were never attributed, oldest first."""
    return sorted(set(rollups.folded_hours(window)) - set(attributed_hours(window)))


def assumptions(*, window: Window) -> list[Assumption]:
    """The assumed prices that lines and reviews of the hours that start in `window` were worked out with."""
    lines = LedgerLine.objects.filter(hour__gte=window.start, hour__lt=window.end, price_id__isnull=False)
    reviews = TaskCost.objects.filter(cohort_hour__gte=window.start, cohort_hour__lt=window.end, price_id__isnull=False)
    return [
        Assumption(
            entry.id,
            entry.series.kind,
            entry.series.gpu_type_id,
            entry.series.endpoint_id,
            entry.amount,
            entry.currency,
            entry.source,
        )
        for entry in catalog.assumed_prices(lines.values("price_id"), reviews.values("price_id"))
    ]


def findings(*, window: Window, hours: list[ReplicaHourRow] | None = None) -> list[Finding]:
    """What in the hours that start in `window` cannot be, or is not known, by replica.

    `hours` are the replica hours of the window, for whoever already holds them.
    """
    condition, values = where_sql(window, Filters(), "hour")
    sql = f"""
        SELECT replica_id, amount IS NULL, reason, count(DISTINCT hour), sum(seconds)
        FROM {LedgerLine._meta.db_table} WHERE {condition} AND (amount IS NULL OR reason = %s)
        GROUP BY replica_id, amount IS NULL, reason ORDER BY replica_id, amount IS NULL, reason
    """
    return findings_of(rollups.replica_hours(window) if hours is None else hours) + [
        Finding("unpriced" if unpriced else "nobody_to_charge", replica_id, hours, seconds, "seconds", reason)
        for replica_id, unpriced, reason, hours, seconds in rows_of(sql, [*values, NOBODY_TO_CHARGE])
    ]


def attributed_hours(window: Window) -> list[datetime]:
    """Hours that start in `window` and have a ledger, if only an empty one."""
    rows = AttributedHour.objects.filter(hour__gte=window.start, hour__lt=window.end)
    return list(rows.values_list("hour", flat=True))
