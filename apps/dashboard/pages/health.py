"""Data health: what sends, what is scraped, how much is seen, and what could not be stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest

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
        Freshness(source.name, tone_of(source.last_seen_at, state.now), "last record", source.last_seen_at)
        for source in ingest.sources()
    ]
    scraped = [target for target in ingest.targets() if target.enabled]
    if scraped:
        failing = [target for target in scraped if target.healthy is False]
        seen = [target.last_ok_at for target in scraped if target.last_ok_at is not None]
        engines = f"{len(scraped)} engines" + (f", {len(failing)} unhealthy" if failing else "")
        oldest = min(seen, default=None)
        tone = "bad" if failing else tone_of(oldest, state.now)
        found.append(Freshness(engines, tone, "last scrape", oldest))
    return sorted(found, key=lambda one: (one.seen is None, state.now - (one.seen or state.now)))


def tone_of(seen: datetime | None, now: datetime) -> str:
    if seen is None:
        return "none"
    return "ok" if now - seen < LATE else "warn" if now - seen < VERY_LATE else "bad"
