"""Sums an engine's minutes into its hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from apps.core.time import to_micros


class Gauge(Protocol):
    @property
    def max(self) -> float: ...


class Minute(Protocol):
    """One minute of one engine, as ingest tells it."""

    @property
    def minute(self) -> datetime: ...
    @property
    def first_scrape_at(self) -> datetime | None: ...
    @property
    def scrapes(self) -> int: ...
    @property
    def covered_seconds(self) -> float: ...
    @property
    def busy_seconds(self) -> float: ...
    @property
    def restarted_at(self) -> datetime | None: ...
    @property
    def gauges(self) -> Mapping[str, Gauge]: ...
    @property
    def counters(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class Engine:
    """What the engine's minutes of the hour add up to. None: not measured."""

    busy_seconds: float
    covered_seconds: float
    scrapes: int
    restarts: int
    prompt_tokens: int | None
    generation_tokens: int | None
    cached_prompt_tokens: int | None
    preemptions: int | None
    kv_usage_max: float | None
    first_us: int | None
    """First good scrape."""


def engine_of(minutes: Sequence[Minute]) -> Engine:
    """`minutes`: those of one replica in one hour, at least one; a replica may be scraped at several targets."""

    def total(name: str) -> int | None:
        counted = [minute.counters[name] for minute in minutes if name in minute.counters]
        return round(sum(counted)) if counted else None

    return Engine(
        busy_seconds=sum(minute.busy_seconds for minute in minutes),
        covered_seconds=sum(minute.covered_seconds for minute in minutes),
        scrapes=sum(minute.scrapes for minute in minutes),
        restarts=sum(minute.restarted_at is not None for minute in minutes),
        prompt_tokens=total("prompt_tokens"),
        generation_tokens=total("generation_tokens"),
        cached_prompt_tokens=total("cached_prompt_tokens"),
        preemptions=total("preemptions"),
        kv_usage_max=max((m.gauges["kv_usage"].max for m in minutes if "kv_usage" in m.gauges), default=None),
        first_us=min((to_micros(m.first_scrape_at) for m in minutes if m.first_scrape_at), default=None),
    )
