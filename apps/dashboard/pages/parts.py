"""The parts that pages are put together from: key figures, quantiles, and ratios that may be unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, Protocol, TypeVar

from apps.attribution.selectors import TaskCostRow
from apps.core.histogram import Histogram
from apps.core.query import Bucket, Dimension
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.dashboard.change import Change, Good, relative
from apps.dashboard.period import bucket_starts
from apps.dashboard.state import PageState

Spark = Sequence[float | None]


class Bucketed(Protocol):
    @property
    def bucket(self) -> datetime | None: ...


class Grouped(Protocol):
    @property
    def ids(self) -> Mapping[Dimension, int]: ...


B = TypeVar("B", bound=Bucketed)
G = TypeVar("G", bound=Grouped)
STREAMED = ("ttft", "itl")
"""The latencies that tables and the overview show."""
BUCKET_NOISE = 0.015
"""A quantile is the middle of a bucket that is 1 % wide: two that differ by less may be equal."""
QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A labelled number in words (or why it is unknown), its change, and the address of the rows behind it."""

    label: str
    value: str | Unknown
    note: str = ""
    change: Change | None = None
    spark: Spark = ()
    url: str = ""
    term: str = ""


@dataclass(frozen=True, slots=True)
class Quantile:
    name: str
    value: float | Unknown
    change: Change | None


@dataclass(frozen=True, slots=True)
class QuantileFigure:
    label: str
    quantiles: list[Quantile]
    note: str
    spark: Spark = ()
    term: str = ""


def rate(part: int, whole: int, if_none: str) -> float | Unknown:
    """part / whole as a ratio; unknown with `if_none` where there is nothing to take a part of."""
    return part / whole if whole else Unknown(if_none)


def quantile(histogram: Histogram, q: float, if_none: str = "no measured requests in this range") -> float | Unknown:
    value = histogram.quantile(q)
    return Unknown(if_none) if value is None else value


def quantile_figure(
    label: str, now: Histogram, before: Histogram | None, spark: Spark = (), term: str = ""
) -> QuantileFigure:
    """p50, p95 and p99 with their changes; lower is better."""
    quantiles = [
        Quantile(
            name,
            quantile(now, q),
            relative(quantile(now, q), before.quantile(q) if before else None, "down", BUCKET_NOISE),
        )
        for name, q in QUANTILES
    ]
    return QuantileFigure(label, quantiles, f"{now.count:,} measured", spark, term)


def known(value: Decimal | float | Unknown | None) -> float | None:
    """A number for drawing; unknown is a gap."""
    return None if value is None or isinstance(value, Unknown) else float(value)


def starts_of(window: Window, bucket: Bucket, until: datetime) -> list[datetime]:
    """Starts of the window's buckets that have begun."""
    return [start for start in bucket_starts(window, bucket) if start <= until]


def none_is_zero(state: PageState, start: datetime) -> float | None:
    """What a count is in a bucket without a row: zero among the hours that have facts, unknown outside them."""
    return 0.0 if state.facts is not None and state.facts.start <= start < state.facts.end else None


def finished(state: PageState) -> list[datetime]:
    """Starts of the range's buckets without the one that is not over: half a day would read as a fall."""
    when = state.period
    starts = starts_of(when.window, when.bucket, state.now)
    return [start for start in starts if start != when.unfinished] if len(starts) > 2 else starts


def compared(
    now: TaskCostRow,
    before: TaskCostRow | None,
    name: Literal["cost_per_accepted", "serving_per_accepted", "total"],
    good: Good = "neither",
) -> Change | None:
    """The change of one amount; none where either side is only a lower bound, whose change says nothing."""
    if before is None or now.partial or before.partial:
        return None
    return relative(getattr(now, name), getattr(before, name), good)


def by_bucket(rows: Iterable[B]) -> dict[datetime, B]:
    """Rows by the start of their bucket."""
    return {row.bucket: row for row in rows if row.bucket is not None}


def by_id(rows: Iterable[G], dimension: Dimension) -> dict[int, G]:
    """Rows by the id of the one dimension that they are grouped by."""
    return {row.ids[dimension]: row for row in rows}
