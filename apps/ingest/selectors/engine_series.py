"""Engine minutes thinned in the database to the points of a chart: the largest, the mean or the sum of each step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from apps.core.time import Window

MOST_POINTS = 600
_STEPS_MINUTES = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440)


@dataclass(frozen=True, slots=True)
class EnginePoint:
    """One replica over one step. None: not measured, or nobody looked. Counters are increases within the step."""

    start: datetime
    target_id: int
    scrapes: int
    failed_scrapes: int
    kv_usage_max: float | None
    running_max: float | None
    waiting_max: float | None
    prefix_hits: float | None
    prefix_queries: float | None
    draft_tokens: float | None
    accepted_tokens: float | None
    drafts: float | None
    preemptions: float | None
    prompt_tokens: float | None
    generation_tokens: float | None
    restarted_at: datetime | None


def engine_step(window: Window) -> timedelta:
    """The finest step that covers the window in at most MOST_POINTS points."""
    for minutes in _STEPS_MINUTES:
        if window.length <= MOST_POINTS * timedelta(minutes=minutes):
            return timedelta(minutes=minutes)
    return timedelta(minutes=_STEPS_MINUTES[-1])


def _counter(name: str) -> str:
    return f"sum((counters->>'{name}')::float8)"


def _gauge_max(name: str) -> str:
    return f"max((gauges->'{name}'->>'max')::float8)"


_COLUMNS = ", ".join(
    [
        *(_gauge_max(name) for name in ("kv_usage", "running", "waiting")),
        *(
            _counter(name)
            for name in (
                "prefix_hits",
                "prefix_queries",
                "spec_draft_tokens",
                "spec_accepted_tokens",
                "spec_drafts",
                "preemptions",
                "prompt_tokens",
                "generation_tokens",
            )
        ),
        "min(restarted_at)",
    ]
)
_SERIES = f"""
SELECT date_bin(make_interval(secs => %s), minute, timestamptz '1970-01-01 00:00Z') AS start, target_id,
    sum(scrapes), sum(failed_scrapes),
    {_COLUMNS}
FROM ingest_engineminute WHERE minute >= %s AND minute < %s
GROUP BY start, target_id ORDER BY start, target_id
"""


def engine_series(window: Window, step: timedelta) -> list[EnginePoint]:
    """Points of all targets by time; a step in which no minute of a target exists has no point."""
    with connection.cursor() as cursor:
        cursor.execute(_SERIES, [step.total_seconds(), window.start, window.end])
        return [EnginePoint(*row) for row in cursor.fetchall()]
