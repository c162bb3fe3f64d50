"""Turns effective-dated price entries into the one price that holds at a moment, or the reason why none does."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Literal, NamedTuple

from apps.core.errors import InvalidInput, Problem
from apps.core.time import Window
from apps.core.unknown import Unknown

PriceKind = Literal["gpu_hour", "reviewer_hour"]


class SeriesKey(NamedTuple):
    """Prices of one series follow each other in time and never overlap. Id 0: no GPU type / every endpoint."""

    kind: PriceKind
    gpu_type_id: int
    endpoint_id: int


@dataclass(frozen=True, slots=True)
class PriceEntry:
    """`amount` of `currency` an hour in [effective_from, effective_until); `until` None: still.

    `id` 0: not stored yet. `fixed` means that somebody states this very end now: it may not be cut short.
    """

    id: int
    series: SeriesKey
    amount: Decimal
    currency: str
    effective_from: datetime
    effective_until: datetime | None
    source: str
    assumed: bool = False
    fixed: bool = False

    @property
    def at(self) -> PriceAt:
        return PriceAt(self.id, self.amount, self.currency, self.assumed, self.source)


@dataclass(frozen=True, slots=True)
class PriceAt:
    """The price that held at the moment asked for; `id` and `amount` go onto the ledger line."""

    id: int
    amount: Decimal
    currency: str
    assumed: bool
    source: str


def day_of(moment: datetime | None) -> str:
    """A date in words; with its time (UTC) where it is not midnight."""
    if moment is None:
        return "further notice"
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%d}" if (utc.hour, utc.minute, utc.second) == (0, 0, 0) else f"{utc:%Y-%m-%d %H:%M:%S}Z"


def overlaps(entries: Iterable[PriceEntry]) -> list[Problem]:
    """One problem for each pair of neighbours of a series that both claim a moment."""
    return [
        Problem(
            "overlap",
            f"the price from {day_of(entry.effective_from)} until {day_of(entry.effective_until)} overlaps the one from"
            f" {day_of(following.effective_from)}: end it by then",
            "until",
        )
        for entry, following in _neighbours(entries)
        if entry.effective_until is None or entry.effective_until > following.effective_from
    ]


def scheduled(entries: Iterable[PriceEntry]) -> list[PriceEntry]:
    """The same entries, each ending where the next of its series begins, unless it ends before or its end is fixed.

    Raises InvalidInput where a fixed end overlaps the next entry, or two entries of a series begin together.
    """
    listed = list(entries)
    cut: dict[tuple[SeriesKey, datetime], datetime] = {}
    for entry, following in _neighbours(listed):
        if entry.effective_from == following.effective_from:
            raise InvalidInput(
                Problem("duplicate", f"two prices begin at {day_of(entry.effective_from)}: keep one", "from")
            )
        until = entry.effective_until
        if not entry.fixed and (until is None or until > following.effective_from):
            cut[entry.series, entry.effective_from] = following.effective_from
    out = [replace(e, effective_until=cut.get((e.series, e.effective_from), e.effective_until)) for e in listed]
    if problems := overlaps(out):
        raise InvalidInput(problems)
    return out


def differing_spans(old: Iterable[PriceEntry], new: Iterable[PriceEntry]) -> list[tuple[datetime, datetime | None]]:
    """The spans [since, until) in which one series costs something else, or is assumed where it was not; None: open."""
    before, after = (sorted(entries, key=lambda entry: entry.effective_from) for entries in (old, new))
    edges = sorted({m for e in (*before, *after) for m in (e.effective_from, e.effective_until) if m})
    spans: list[tuple[datetime, datetime | None]] = []
    for since, until in zip(edges, [*edges[1:], None], strict=True):
        if _terms(_holding(before, since)) == _terms(_holding(after, since)):
            continue
        if spans and spans[-1][1] == since:
            since = spans.pop()[0]
        spans.append((since, until))
    return spans


def _terms(price: PriceAt | None) -> tuple[Decimal, str, bool] | None:
    return (price.amount, price.currency, price.assumed) if price else None


def _neighbours(entries: Iterable[PriceEntry]) -> list[tuple[PriceEntry, PriceEntry]]:
    ordered = sorted(entries, key=lambda entry: (entry.series, entry.effective_from))
    return [(entry, following) for entry, following in pairwise(ordered) if entry.series == following.series]


class PriceBook:
    """All prices. Raises InvalidInput when two of one series overlap.

    `gpu_type_names` (id to name) is for the reasons only.
    """

    def __init__(
        self,
        entries: Iterable[PriceEntry],
        gpu_type_names: Mapping[int, str] | None = None,
    ) -> None:
        listed = sorted(entries, key=lambda entry: (entry.series, entry.effective_from))
        if problems := overlaps(listed):
            raise InvalidInput(problems)
        self._series: dict[SeriesKey, list[PriceEntry]] = {}
        for entry in listed:
            self._series.setdefault(entry.series, []).append(entry)
        self._gpu_type_names = dict(gpu_type_names or {})

    def gpu_hour(self, gpu_type_id: int, at: datetime) -> PriceAt | Unknown:
        """Price of one GPU of this type for one hour."""
        if not gpu_type_id:
            return Unknown("the replica's deployment names no GPU type")
        entries = self._series.get(SeriesKey("gpu_hour", gpu_type_id, 0), [])
        name = self._gpu_type_names.get(gpu_type_id, str(gpu_type_id))
        return _holding(entries, at) or _why_not(entries, at, f"GPU type {name}")

    def gpu_hour_spans(self, gpu_type_id: int, window: Window) -> list[tuple[Window, PriceAt | Unknown]]:
        """The window cut wherever this type's price begins or ends; the pieces follow each other without a gap."""
        entries = self._series.get(SeriesKey("gpu_hour", gpu_type_id, 0), [])
        edges = {moment for entry in entries for moment in (entry.effective_from, entry.effective_until) if moment}
        cuts = [window.start, *sorted(edge for edge in edges if window.start < edge < window.end), window.end]
        return [(Window(start, end), self.gpu_hour(gpu_type_id, start)) for start, end in pairwise(cuts)]

    def reviewer_hour(self, endpoint_id: int, at: datetime) -> PriceAt | Unknown:
        """Price of one hour of review: the endpoint's own where it has one at that moment, else the general one."""
        own = self._series.get(SeriesKey("reviewer_hour", 0, endpoint_id), []) if endpoint_id else []
        general = self._series.get(SeriesKey("reviewer_hour", 0, 0), [])
        return _holding(own, at) or _holding(general, at) or _why_not(general, at, "an hour of review")


def _holding(entries: list[PriceEntry], at: datetime) -> PriceAt | None:
    position = bisect_right(entries, at, key=lambda entry: entry.effective_from)
    if not position:
        return None
    entry = entries[position - 1]
    if entry.effective_until is not None and at >= entry.effective_until:
        return None
    return entry.at


def _why_not(entries: list[PriceEntry], at: datetime, what: str) -> Unknown:
    """The same words at every moment of a gap, so that many hours without a price are one reason."""
    if not entries:
        return Unknown(f"no price for {what}")
    position = bisect_right(entries, at, key=lambda entry: entry.effective_from)
    if not position:
        return Unknown(f"no price for {what} before {day_of(entries[0].effective_from)}")
    ended = day_of(entries[position - 1].effective_until)
    if position == len(entries):
        return Unknown(f"no price for {what} since {ended}")
    return Unknown(f"no price for {what} from {ended} until {day_of(entries[position].effective_from)}")
