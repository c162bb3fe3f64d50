"""Engine minutes, states and targets as the rooms above read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
from django.db import connection

from apps.core.time import Window
from apps.ingest.domain.engine_histograms import BucketCounts
from apps.ingest.domain.engine_minutes import GAP
from apps.ingest.models import EngineState, Target
from apps.ingest.selectors.sources import SourceRow, sources

EngineHistogram = BucketCounts


@dataclass(frozen=True, slots=True)
class Gauge:
    last: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True)
class EngineMinuteRow:
    """One replica's minute. A counter that is missing is not measured; a histogram that is missing saw nothing."""

    minute: datetime
    target_id: int
    target: str
    model: str
    scrapes: int
    failed_scrapes: int
    covered_seconds: float
    busy_seconds: float
    resets: int
    restarted_at: datetime | None
    first_scrape_at: datetime | None
    gauges: dict[str, Gauge]
    counters: dict[str, float]
    histograms: dict[str, EngineHistogram]


@dataclass(frozen=True, slots=True)
class EngineSpan:
    """A span in which a replica was down or loading; `open`: it still is, `ended` is when that was last seen."""

    target_id: int
    target: str
    what: Literal["down", "load"]
    started: datetime
    ended: datetime
    open: bool = False


@dataclass(frozen=True, slots=True)
class TargetRow:
    id: int
    name: str
    url: str
    engine: str
    engine_version: str
    enabled: bool
    healthy: bool | None
    problem: str
    last_scrape_at: datetime | None
    last_ok_at: datetime | None
    recording: bool


_MINUTES = """
SELECT m.minute, m.target_id, t.name, m.model, m.scrapes, m.failed_scrapes, m.covered_seconds, m.busy_seconds, m.resets,
    m.restarted_at, m.first_scrape_at, m.gauges, m.counters, m.histograms
FROM ingest_engineminute m JOIN ingest_target t ON t.id = m.target_id
WHERE m.minute >= %s AND m.minute < %s AND (%s::text[] IS NULL OR t.name = ANY(%s::text[]))
ORDER BY m.minute, t.name
"""


def engine_minutes(window: Window, targets: Collection[str] | None = None) -> list[EngineMinuteRow]:
    """Minutes that start in the window, by time and target; `targets` keeps only those names."""
    names = None if targets is None else list(targets)
    with connection.cursor() as cursor:
        cursor.execute(_MINUTES, [window.start, window.end, names, names])
        return [_minute(row) for row in cursor.fetchall()]


def _minute(row: tuple[Any, ...]) -> EngineMinuteRow:
    minute, target_id, target, model, scrapes, failed, covered, busy, resets, restarted_at, first, *columns = row
    gauges, counters, histograms = (
        msgspec.json.decode(value) if isinstance(value, str) else value for value in columns
    )
    return EngineMinuteRow(
        minute=minute,
        target_id=target_id,
        target=target,
        model=model,
        scrapes=scrapes,
        failed_scrapes=failed,
        covered_seconds=covered,
        busy_seconds=busy,
        resets=resets,
        restarted_at=restarted_at,
        first_scrape_at=first,
        gauges={name: Gauge(**gauge) for name, gauge in gauges.items()},
        counters=counters,
        histograms={
            name: EngineHistogram(tuple(h["bounds"]), tuple(h["counts"]), h["sum"], h["count"])
            for name, h in histograms.items()
        },
    )


def engine_spans(window: Window) -> list[EngineSpan]:
    """Down and load spans that overlap the window, whole, by start; outages that still last are among them."""
    targets = {target.pk: target for target in Target.objects.defer("last_sample")}
    spans = [
        EngineSpan(state.target_id, targets[state.target_id].name, _what(state.what), state.started, state.ended)
        for state in EngineState.objects.filter(started__lt=window.end, ended__gt=window.start)
        if state.target_id in targets
    ]
    for target in targets.values():
        ok, tried = target.last_ok_at, target.last_scrape_at
        if ok is not None and tried is not None and tried - ok > GAP and ok < window.end and tried > window.start:
            spans.append(EngineSpan(target.pk, target.name, "down", ok, tried, open=True))
    return sorted(spans, key=lambda span: (span.started, span.target, span.what))


def _what(text: str) -> Literal["down", "load"]:
    return "load" if text == EngineState.What.LOAD else "down"


def targets() -> list[TargetRow]:
    """Every target, also disabled ones, by name."""
    return [
        TargetRow(
            id=target.pk,
            name=target.name,
            url=target.url,
            engine=target.engine,
            engine_version=target.engine_version,
            enabled=target.enabled,
            healthy=target.healthy,
            problem=target.problem,
            last_scrape_at=target.last_scrape_at,
            last_ok_at=target.last_ok_at,
            recording=target.recording,
        )
        for target in Target.objects.defer("last_sample").order_by("name")
    ]


def recording_notice(
    senders: Iterable[SourceRow] | None = None, scraped: Iterable[TargetRow] | None = None
) -> str | None:
    """What every page must say while it shows a recording; None when all data is live.

    `senders` and `scraped` are all sources and targets, for whoever holds them already.
    """
    replayed = any(s.recording and s.last_event_at for s in (sources() if senders is None else senders))
    if not replayed and not any(t.recording for t in (targets() if scraped is None else scraped)):
        return None
    return (
        "Recording: what you see was recorded from two vLLM engines and a LiteLLM gateway and is played back as if it "
        "happened now. Prices are assumptions."
    )
