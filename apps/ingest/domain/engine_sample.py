"""What one scrape of an engine says, under canonical names, and its form as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.core.time import from_micros, to_micros

SeriesValues = dict[str, dict[str, float]]
"""Canonical name -> series (its labels) -> value."""


@dataclass(frozen=True, slots=True)
class HistogramPoint:
    """A histogram series at one moment. `cumulative[i]` observations were <= `bounds[i]`; the last is all of them."""

    bounds: tuple[float, ...]
    cumulative: tuple[float, ...]
    sum: float


@dataclass(frozen=True, slots=True)
class GaugePoint:
    """A gauge over all engines of the page: their sum or mean, and the greatest of them (the sum's own, if a sum)."""

    value: float
    max: float


@dataclass(frozen=True, slots=True)
class EngineSample:
    """One page, read. Counters and histograms stay apart by series, so that each can be differenced by itself."""

    engine: str
    model: str = ""
    process_start: float | None = None
    created: float | None = None
    """Oldest `_created` of the engine's own series: it moves only when the process is a new one."""
    gauges: dict[str, GaugePoint] = field(default_factory=dict)
    counters: SeriesValues = field(default_factory=dict)
    histograms: dict[str, dict[str, HistogramPoint]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was wrong with single lines; the rest of the page stands."""

    @property
    def names(self) -> set[str]:
        """Canonical names that accumulate: those that must not vanish while the process lives."""
        return {*self.counters, *self.histograms}


@dataclass(frozen=True, slots=True)
class Scrape:
    """A sample and the moment it was taken."""

    at: datetime
    sample: EngineSample


class PageProblem(ValueError):
    """A page that is no (whole) metrics page of the engine; the message says so in words fit for a page."""


def scrape_to_json(scrape: Scrape) -> dict[str, Any]:
    sample = scrape.sample
    return {
        "at_us": to_micros(scrape.at),
        "engine": sample.engine,
        "model": sample.model,
        "process_start": sample.process_start,
        "created": sample.created,
        "gauges": {name: [gauge.value, gauge.max] for name, gauge in sample.gauges.items()},
        "counters": sample.counters,
        "histograms": {
            name: {key: [point.bounds, point.cumulative, point.sum] for key, point in series.items()}
            for name, series in sample.histograms.items()
        },
    }


def scrape_from_json(data: dict[str, Any]) -> Scrape:
    sample = EngineSample(
        engine=data["engine"],
        model=data["model"],
        process_start=data["process_start"],
        created=data["created"],
        gauges={name: GaugePoint(value, greatest) for name, (value, greatest) in data["gauges"].items()},
        counters=data["counters"],
        histograms={
            name: {
                key: HistogramPoint(tuple(bounds), tuple(cumulative), total)
                for key, (bounds, cumulative, total) in series.items()
            }
            for name, series in data["histograms"].items()
        },
    )
    return Scrape(from_micros(data["at_us"]), sample)
