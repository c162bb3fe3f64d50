"""A minute of an engine as a table row and back; the JSON columns are described in docs/metrics.md."""

from __future__ import annotations

from typing import Any

from apps.ingest.domain.engine_histograms import BucketCounts
from apps.ingest.domain.engine_minutes import GaugeFold, Minute


def minute_to_row(minute: Minute) -> tuple[Any, ...]:
    """Columns from `model` to `histograms`; whole numbers are written without a fraction."""
    return (
        minute.model,
        minute.scrapes,
        minute.failed_scrapes,
        minute.covered_seconds,
        minute.busy_seconds,
        minute.resets,
        minute.restarted_at,
        minute.first_scrape_at,
        {
            name: {"last": short(gauge.last), "max": short(gauge.max), "mean": short(gauge.mean)}
            for name, gauge in minute.gauges.items()
        },
        {name: short(value) for name, value in minute.counters.items()},
        {
            name: {
                "bounds": [short(bound) for bound in histogram.bounds],
                "counts": [short(count) for count in histogram.counts],
                "sum": short(histogram.sum),
                "count": short(histogram.count),
            }
            for name, histogram in minute.histograms.items()
        },
    )


def minute_from_row(row: tuple[Any, ...]) -> Minute:
    model, scrapes, failed, covered, busy, resets, restarted_at, first_scrape_at, *columns = row
    gauges, counters, histograms = columns
    return Minute(
        model=model,
        scrapes=scrapes,
        failed_scrapes=failed,
        covered_seconds=covered,
        busy_seconds=busy,
        resets=resets,
        restarted_at=restarted_at,
        first_scrape_at=first_scrape_at,
        gauges={name: GaugeFold(gauge["last"], gauge["max"], gauge["mean"]) for name, gauge in gauges.items()},
        counters=dict(counters),
        histograms={
            name: BucketCounts(tuple(h["bounds"]), tuple(h["counts"]), h["sum"], h["count"])
            for name, h in histograms.items()
        },
    )


def short(value: float) -> float | int:
    """The same number, as an int where it is whole: JSON says 5 in place of 5.0."""
    return int(value) if value == int(value) else value
