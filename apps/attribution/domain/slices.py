"""Cuts one replica-hour where its price changes, and says what each slice costs per nanosecond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from apps.catalog.domain.nouns import Holding
from apps.catalog.domain.prices import PriceAt, PriceBook
from apps.core.money import QUANTUM
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component
from apps.rollups.domain.facts import ReplicaHourRow

BUSY = Component.SHARED
"""Busy time goes by the component that it is first of all meant for, until it is divided."""

_NANOSECONDS_PER_HOUR = 3600 * 10**9
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """What a nanosecond of a replica costs. `quanta` is None, with a `reason`, where it is not known."""

    gpus: Decimal | None
    quanta: Fraction | None
    price: PriceAt | None
    reason: str = ""

    @property
    def currency(self) -> str:
        return self.price.currency if self.price else ""


@dataclass(frozen=True, slots=True)
class Slice:
    """Nanoseconds of each component under one price; below zero only where idle is."""

    rate: Rate
    nanoseconds: Mapping[Component, int]

    @property
    def held(self) -> int:
        return sum(self.nanoseconds.values())


def slices_of(row: ReplicaHourRow, holding: Holding | None, book: PriceBook) -> list[Slice]:
    """The slices of one replica-hour in time order; one, unless the price changes while the replica holds its GPUs.

    How load, busy, idle and down lie inside the hour is not kept, so each is cut in proportion to the length of the
    slices. Cuts are of cumulated nanoseconds: every component's slices add up to it exactly.
    """
    components = {
        Component.SHARED: row.busy_us * 1000,
        Component.IDLE: row.idle_us * 1000,
        Component.LOAD: row.load_us * 1000,
        Component.DOWN: row.down_us * 1000,
    }
    spans = _rates(row, holding, book)
    total = sum(length for length, _ in spans)
    out: list[Slice] = []
    before = 0
    for length, rate in spans:
        after = before + length
        out.append(Slice(rate, {c: ns * after // total - ns * before // total for c, ns in components.items()}))
        before = after
    return out


def _rates(row: ReplicaHourRow, holding: Holding | None, book: PriceBook) -> list[tuple[int, Rate]]:
    """(length in µs, rate) of the spans of the held part of the hour in which one price holds."""
    if holding is None:
        return [(1, Rate(None, None, None, f"replica {row.replica_id} is not in the catalog"))]
    if holding.gpus is None:
        return [(1, Rate(None, None, None, f"replica {holding.name or holding.slug} belongs to no deployment"))]
    spans = book.gpu_hour_spans(holding.gpu_type_id, _held(row, holding))
    return [(span.length // _MICROSECOND, _rate(holding.gpus, price)) for span, price in spans]


def _rate(gpus: Decimal, price: PriceAt | Unknown) -> Rate:
    if isinstance(price, PriceAt):
        return Rate(gpus, Fraction(gpus) * Fraction(price.amount) / Fraction(QUANTUM) / _NANOSECONDS_PER_HOUR, price)
    if gpus == 0:
        # No GPU, no cost, whatever a GPU would have cost.
        return Rate(gpus, Fraction(0), None)
    return Rate(gpus, None, None, price.reason)


def _held(row: ReplicaHourRow, holding: Holding) -> Window:
    """The part of the hour in which GPUs were held: by the catalog, or from the first evidence, which is in the hour
    when no more is held than since then. The whole hour where neither says anything.
    """
    whole = Window.hour(row.hour)
    start = max(whole.start, holding.held_from or whole.start)
    end = min(whole.end, holding.held_until or whole.end)
    if holding.held_from is None and row.evidence is not None and row.held_us * _MICROSECOND <= end - row.evidence:
        start = row.evidence
    return Window(start, end) if start < end else whole
