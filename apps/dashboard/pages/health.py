"""Data health: what sends, what is scraped, how much is seen, and what could not be stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Finding
from apps.catalog import selectors as catalog
from apps.core.unknown import Unknown
from apps.dashboard import format as words
from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest
from apps.ingest.selectors import SourceRow, TargetRow
from apps.rollups import selectors as rollups
from apps.rollups.selectors import Coverage

LATE = timedelta(minutes=15)
VERY_LATE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Freshness:
    """One source or group of engines in a word, and when it was last seen."""

    name: str
    tone: str
    words: str
    seen: datetime | None


def freshness(state: PageState) -> list[Freshness]:
    """Every source that sends and the engines together, the latest first."""
    found = [
        Freshness(
            f"{source.name}, {source.kind}", tone_of(source.last_seen_at, state.now), "last record", source.last_seen_at
        )
        for source in state.heard.sources
    ]
    scraped = [target for target in state.heard.targets if target.enabled]
    if scraped:
        failing = [target for target in scraped if target.healthy is False]
        seen = [target.last_ok_at for target in scraped if target.last_ok_at is not None]
        engines = words.counted(len(scraped), "engine") + (f", {len(failing)} unhealthy" if failing else "")
        oldest = min(seen, default=None)
        tone = "bad" if failing else tone_of(oldest, state.now)
        found.append(Freshness(engines, tone, "last scrape", oldest))
    return sorted(found, key=lambda one: (one.seen is None, state.now - (one.seen or state.now)))


def tone_of(seen: datetime | None, now: datetime) -> str:
    if seen is None:
        return "none"
    return "ok" if now - seen < LATE else "warn" if now - seen < VERY_LATE else "bad"


@dataclass(frozen=True, slots=True)
class SourceLine:
    source: SourceRow
    tone: str
    word: str
    lag: timedelta | None
    """From the newest time inside the records to when they came in; how late the source tells."""


@dataclass(frozen=True, slots=True)
class CoverageLine:
    """Tokens that gateways logged and the engine counted on one replica; the share is what is seen of it."""

    name: str
    logged: int
    counted: int | None
    share: float | Unknown


@dataclass(frozen=True, slots=True)
class FindingLine:
    replica: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class HealthPage:
    answer: str
    sources: list[SourceLine]
    targets: list[TargetRow]
    coverage: list[CoverageLine]
    findings: list[FindingLine]
    unclaimed: int
    behind: list[datetime]
    open_rejects: int
    is_empty: bool


def build(state: PageState) -> HealthPage:
    window = state.period.window
    names = state.names["replica"]
    sources = [_source(source, state.now) for source in state.heard.sources]
    targets = state.heard.targets
    open_rejects = ingest.open_rejects()
    hours = rollups.replica_hours(window)
    found = [FindingLine(names[one.replica_id].name, one) for one in attribution.findings(window=window, hours=hours)]
    return HealthPage(
        answer=_answer(sources, targets, open_rejects, len(found)),
        sources=sources,
        targets=targets,
        coverage=_coverage(state, rollups.coverage_of(hours)),
        findings=found,
        unclaimed=len(catalog.unclaimed()),
        behind=attribution.hours_without_ledger(window=window),
        open_rejects=open_rejects,
        is_empty=not sources and not targets,
    )


def _source(source: SourceRow, now: datetime) -> SourceLine:
    tone = tone_of(source.last_seen_at, now)
    word = {"ok": "arriving", "warn": "late", "bad": "silent", "none": "nothing yet"}[tone]
    lag = None
    if source.last_seen_at is not None and source.last_event_at is not None:
        lag = max(timedelta(0), source.last_seen_at - source.last_event_at)
    return SourceLine(source, tone, word, lag)


def _coverage(state: PageState, found: Sequence[Coverage]) -> list[CoverageLine]:
    return [
        CoverageLine(
            name=state.names["replica"][row.replica_id].name,
            logged=row.logged,
            counted=row.counted,
            share=row.share,
        )
        for row in found
        if state.filters.replica is None or row.replica_id in state.filters.replica
    ]


def _answer(sources: list[SourceLine], targets: list[TargetRow], open_rejects: int, findings: int) -> str:
    if not sources and not targets:
        return ""
    silent = [line.source.name for line in sources if line.tone == "bad"]
    unhealthy = [target.name for target in targets if target.enabled and target.healthy is False]
    problems = [
        f"{what} {words.listed(names)}"
        for what, names in (("nothing heard lately from", silent), ("no answer from", unhealthy))
        if names
    ]
    if open_rejects:
        problems.append(f"{_rejected(open_rejects)} to be fixed")
    if findings:
        problems.append(f"{words.counted(findings, 'finding')} to look into")
    if not problems:
        return "Everything that sends has been heard of lately, and nothing waits to be fixed or looked into."
    sentence = "; ".join(problems)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _rejected(waiting: int) -> str:
    if waiting > ingest.COUNTED:
        return f"more than {words.count(ingest.COUNTED)} records wait"
    return f"{words.counted(waiting, 'record')} {'waits' if waiting == 1 else 'wait'}"
