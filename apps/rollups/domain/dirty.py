"""Says which hours are behind their records, their catalog or the clock, and what a fold changes for other hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import numpy as np

from apps.core.time import HOUR, day_floor, hour_floor
from apps.rollups.domain.attempts import Bools, Int64
from apps.rollups.domain.calls import HOUR_US
from apps.rollups.domain.tasks import TaskParts, earliest

REFRESH = timedelta(seconds=60)
"""How old the fold of the hour in progress may be: replicas go on holding their GPUs though nothing arrives."""


class LabelChange(Protocol):
    """A change of the catalog by which labels resolve differently in [affects_from, affects_until)."""

    @property
    def id(self) -> int: ...
    @property
    def affects_from(self) -> datetime | None: ...
    @property
    def affects_until(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Basis:
    """What an hour was folded from."""

    arrival_version: int
    catalog_change: int
    as_of: datetime
    fold_again: bool


def hours_behind(
    versions: Mapping[datetime, int],
    folded: Mapping[datetime, Basis],
    changes: Iterable[LabelChange],
    now: datetime,
    held_from: datetime | None = None,
) -> list[datetime]:
    """Hours to fold (again), oldest first, so that a task's first request is met before what follows it.

    Every hour from the first that something arrived for up to `now` has facts, also an hour in which nothing arrived:
    what was held then was idle. The books open earlier where the catalog says that GPUs were held (`held_from`, the
    earliest), but not before the month in which the first record arrived. `changes` must hold those that are newer
    than the oldest basis.
    """
    known = list(changes)
    hours = set(versions)
    if hours:
        hour = _books_open(min(hours), held_from)
        while hour <= now:
            hours.add(hour)
            hour += HOUR
    hours |= folded.keys()
    return sorted(hour for hour in hours if _is_behind(hour, versions.get(hour, 0), folded.get(hour), known, now))


def _books_open(first_arrival: datetime, held_from: datetime | None) -> datetime:
    if held_from is None or held_from >= first_arrival:
        return first_arrival
    return hour_floor(max(held_from, day_floor(first_arrival).replace(day=1)))


def _is_behind(hour: datetime, version: int, basis: Basis | None, changes: list[LabelChange], now: datetime) -> bool:
    if basis is None or basis.fold_again or basis.arrival_version != version:
        return True
    if basis.as_of < hour + HOUR and (now >= hour + HOUR or now - basis.as_of >= REFRESH):
        return True
    return any(change.id > basis.catalog_change and _touches(change, hour) for change in changes)


def _touches(change: LabelChange, hour: datetime) -> bool:
    # Requests that run over from the hour before are resolved as of then.
    return (change.affects_from is None or change.affects_from < hour + HOUR) and (
        change.affects_until is None or change.affects_until > hour - HOUR
    )


@dataclass(frozen=True, slots=True, eq=False)
class Ripples:
    """Other hours (starts, µs) that a fold has made stale: to be folded again, or only decided again."""

    fold: Int64
    decide: Int64


def ripples(hour_us: int, before: TaskParts, now: TaskParts, elsewhere: TaskParts) -> Ripples:
    """What other hours must do since this hour's tasks have changed.

    `before` and `now`: this hour's parts as they were stored and as they are; `elsewhere` other hours' parts of all
    these tasks. `before` may leave out tasks that are not in `elsewhere`.
    """
    if len(elsewhere) == 0:
        return Ripples(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    now = now.take(np.isin(now.task_key, elsewhere.task_key))
    was, is_ = _heads(before, elsewhere, hour_us), _heads(now, elsewhere, hour_us)
    moved = np.array([key for key in was.keys() | is_.keys() if was.get(key) != is_.get(key)], dtype=np.int64)
    tried = _tries(before) ^ _tries(now)
    heads = [head for key in {key for key, *_ in tried} for head in (was.get(key), is_.get(key)) if head]
    cohort_hours = {start // HOUR_US * HOUR_US for start, *_ in heads}
    return Ripples(
        np.unique(elsewhere.hour_us[np.isin(elsewhere.task_key, moved)]),
        np.array(sorted(cohort_hours - {hour_us}), dtype=np.int64),
    )


_Head = tuple[int, int, int, int]


def _heads(mine: TaskParts, others: TaskParts, hour_us: int) -> dict[int, _Head]:
    """First request of each shared task: by this hour's part where it has one, and by the others."""
    found = others.heads()
    heads = _as_dict(found.task_key, found.cohorts(), found.first_started_us)
    here = earliest(mine.heads(), found, hour_us)
    return heads | _as_dict(here.task_key, here.cohorts(), here.first_started_us)


def _as_dict(keys: Int64, cohorts: Int64, started: Int64) -> dict[int, _Head]:
    return {
        key: (start, *cohort[1:])
        for key, cohort, start in zip(keys.tolist(), cohorts.tolist(), started.tolist(), strict=True)
    }


def _tries(parts: TaskParts) -> set[tuple[int, bool, bool]]:
    rows: Bools = (parts.last_attempt > 1) | (parts.escalated > 0)
    some = parts.take(rows)
    return set(
        zip(some.task_key.tolist(), (some.last_attempt > 1).tolist(), (some.escalated > 0).tolist(), strict=True)
    )
