"""Successive scrapes of one target into minutes (differences, gauges) and spans in which it was not serving.

A difference belongs to the minute of the later scrape. The first scrape is only the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from apps.core.time import EPOCH
from apps.ingest.domain.engine_histograms import BucketCounts, bounds_changed, increase, merge
from apps.ingest.domain.engine_sample import EngineSample, HistogramPoint, Scrape

SCRAPE_INTERVAL = timedelta(seconds=15)
GAP = 2.5 * SCRAPE_INTERVAL
"""Two good scrapes further apart than this have a gap between them, which nothing is known to cover."""

UNASKED = timedelta(minutes=10)
"""For so long an engine that restarts counts as down and loading although no scrape is known to have failed."""

_START_TOLERANCE_SECONDS = 1.0
_WORK = ("prompt_tokens", "generation_tokens")


@dataclass(frozen=True, slots=True)
class Difference:
    """What moved between two scrapes, by canonical name, summed over series."""

    seconds: float
    restarted_at: datetime | None
    counters: dict[str, float]
    histograms: dict[str, BucketCounts]
    busy: bool


@dataclass(slots=True)
class GaugeFold:
    """Last, greatest and mean value of a gauge over the scrapes of a minute."""

    last: float
    max: float
    mean: float


@dataclass(slots=True)
class Minute:
    """One target's minute, being added to."""

    model: str = ""
    scrapes: int = 0
    failed_scrapes: int = 0
    covered_seconds: float = 0.0
    busy_seconds: float = 0.0
    resets: int = 0
    restarted_at: datetime | None = None
    first_scrape_at: datetime | None = None
    gauges: dict[str, GaugeFold] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, BucketCounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    what: Literal["down", "load"]
    started: datetime
    ended: datetime


@dataclass(slots=True)
class Laid:
    """Minutes and spans of a run of scrapes, and the base of the next difference."""

    minutes: dict[datetime, Minute]
    spans: list[Span]
    last: Scrape | None
    stored: int = 0


def minute_floor(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def lay(
    base: Scrape | None,
    scrapes: Iterable[Scrape],
    *,
    minutes: Mapping[datetime, Minute] | None = None,
    failed_since_base: bool = False,
) -> Laid:
    """Fold `scrapes`, in order of time, onto `minutes` (those that exist already; they are added to).

    A scrape not newer than the one before it changes nothing. `failed_since_base` says that scrapes failed between
    the base and the first of these.
    """
    laid = Laid(dict(minutes or {}), [], base)
    for scrape in scrapes:
        if laid.last is not None and scrape.at <= laid.last.at:
            continue
        minute = laid.minutes.setdefault(minute_floor(scrape.at), Minute())
        if minute.first_scrape_at is None:
            minute.first_scrape_at = scrape.at
        _add_gauges(minute, scrape.sample)
        if laid.last is not None:
            difference = difference_between(laid.last, scrape)
            gap = scrape.at - laid.last.at > GAP
            _add_difference(minute, difference, gap)
            if gap:
                laid.spans += spans_of_gap(laid.last.at, scrape.at, difference, failed_since_base)
            if difference.restarted_at is None:
                scrape = replace(scrape, sample=_with_vanished(laid.last.sample, scrape.sample))
        laid.last = scrape
        laid.stored += 1
        failed_since_base = False
    return laid


def difference_between(before: Scrape, after: Scrape) -> Difference:
    """What moved from `before` to `after`. After a restart every series counts from zero."""
    old, new = before.sample, after.sample
    restarted = has_restarted(old, new)
    seconds = (after.at - before.at).total_seconds()
    running = any(sample.gauges["running"].value > 0 for sample in (old, new) if "running" in sample.gauges)
    if not restarted and _same_values(old, new):
        return Difference(seconds, None, dict.fromkeys(new.counters, 0.0), {}, running)
    base_counters = {} if restarted else old.counters
    base_histograms = {} if restarted else old.histograms
    counters = {name: _increase(base_counters.get(name, {}), series) for name, series in new.counters.items()}
    histograms = {
        name: moved
        for name, series in new.histograms.items()
        if (moved := increase(base_histograms.get(name, {}), series)) is not None
    }
    worked = any(counters.get(name, 0) > 0 for name in _WORK)
    restarted_at = _restart_time(before, after) if restarted else None
    return Difference(seconds, restarted_at, counters, histograms, running or worked)


def _same_values(old: EngineSample, new: EngineSample) -> bool:
    """Whether both hold the very same values (an idle engine in a recording): there is nothing to subtract."""
    return old.counters is new.counters and old.histograms is new.histograms


def has_restarted(old: EngineSample, new: EngineSample) -> bool:
    """Whether `new` comes from a later process: by its start time, by `_created`, or because anything fell.

    One fallen counter is enough, since all series of a process begin together. Histogram sums are left out: they are
    sums of fractions, which several processes may add in another order.
    """
    if _later(old.process_start, new.process_start) or _later(old.created, new.created):
        return True
    if _same_values(old, new):
        return False
    for name, series in new.counters.items():
        known = old.counters.get(name, {})
        if any(value < known.get(key, 0.0) for key, value in series.items()):
            return True
    for name, points in new.histograms.items():
        known_points = old.histograms.get(name, {})
        if any(key in known_points and _fell(known_points[key], point) for key, point in points.items()):
            return True
    return False


def spans_of_gap(last_good: datetime, next_good: datetime, difference: Difference, failed: bool) -> list[Span]:
    """Where the target was down and loading between two good scrapes that are further apart than GAP.

    A restart: down until the new process began, loading from then on. The same process: down only if it was asked and
    did not answer, and did no work. When nobody asked, the gap says nothing about the engine; but a short one that ends
    in a restart (a recording leaves failed scrapes out) is the restart's.
    """
    started = difference.restarted_at
    if started is not None:
        if not failed and next_good - last_good > UNASKED:
            return []
        spans: list[Span] = []
        began = max(started, last_good)
        if began > last_good:
            spans.append(Span("down", last_good, began))
        if next_good > began:
            spans.append(Span("load", began, next_good))
        return spans
    if failed and not any(difference.counters.get(name, 0) > 0 for name in _WORK):
        return [Span("down", last_good, next_good)]
    return []


def _later(old: float | None, new: float | None) -> bool:
    return old is not None and new is not None and new > old + _START_TOLERANCE_SECONDS


def _fell(old: HistogramPoint, new: HistogramPoint) -> bool:
    return bounds_changed(old, new) or any(b < a for a, b in zip(old.cumulative, new.cumulative, strict=True))


def _restart_time(before: Scrape, after: Scrape) -> datetime:
    """When the new process began; the scrape that found it, where the engine does not say."""
    start = after.sample.process_start or after.sample.created
    if start is None:
        return after.at
    moment = EPOCH + timedelta(seconds=start)
    return min(max(moment, before.at), after.at)


def _increase(old: dict[str, float], new: dict[str, float]) -> float:
    if old is new:
        return 0.0
    return sum([value - old.get(key, 0.0) for key, value in new.items()])


def _with_vanished(old: EngineSample, new: EngineSample) -> EngineSample:
    """`new` with the series that only `old` has, so that one which comes back is not counted twice."""
    if _same_values(old, new):
        return new
    if all(old.counters[name].keys() <= new.counters.get(name, {}).keys() for name in old.counters) and all(
        old.histograms[name].keys() <= new.histograms.get(name, {}).keys() for name in old.histograms
    ):
        return new
    return replace(
        new,
        counters={
            name: {**old.counters.get(name, {}), **new.counters.get(name, {})}
            for name in {**old.counters, **new.counters}
        },
        histograms={
            name: {**old.histograms.get(name, {}), **new.histograms.get(name, {})}
            for name in {**old.histograms, **new.histograms}
        },
    )


def _add_gauges(minute: Minute, sample: EngineSample) -> None:
    minute.model = sample.model
    before = minute.scrapes
    minute.scrapes += 1
    for name, gauge in sample.gauges.items():
        fold = minute.gauges.get(name)
        if fold is None:
            minute.gauges[name] = GaugeFold(gauge.value, gauge.max, gauge.value)
        else:
            fold.last = gauge.value
            fold.max = max(fold.max, gauge.max)
            fold.mean += (gauge.value - fold.mean) / (before + 1)


def _add_difference(minute: Minute, difference: Difference, gap: bool) -> None:
    if not gap:
        minute.covered_seconds += difference.seconds
        minute.busy_seconds += difference.seconds if difference.busy else 0.0
    if difference.restarted_at is not None:
        minute.resets += 1
        minute.restarted_at = difference.restarted_at
    known_counters = minute.counters
    for name, moved in difference.counters.items():
        known_counters[name] = known_counters[name] + moved if name in known_counters else moved
    for name, counts in difference.histograms.items():
        known = minute.histograms.get(name)
        minute.histograms[name] = counts if known is None else merge(known, counts)
