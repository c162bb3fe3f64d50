"""Turns the attempts of one hour into what each task did in it, and which request of a task was its first.

A task's first request (by start, over all hours) names its cohort: hour, team, endpoint and model. What the client
tried again is told from it: on the first request's model a retry, on another an escalation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from apps.core.vocabulary import Work
from apps.rollups.domain.attempts import (
    ENDPOINT,
    MODEL,
    NO_KEY,
    TEAM,
    Attempts,
    Bools,
    Int8,
    Int16,
    Int32,
    Int64,
    Rows,
)
from apps.rollups.domain.calls import HOUR_US, CallOrder


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """The first request of each task, as seen from some hours: parallel columns of shape (n,), `task_key` ascending.

    An hour also sees requests that run over into it, with the start that they have.
    """

    task_key: Int64
    first_started_us: Int64
    team: Int64
    endpoint: Int64
    model: Int64

    @property
    def cohort_hour_us(self) -> Int64:
        hour: Int64 = self.first_started_us // HOUR_US * HOUR_US
        return hour

    def cohorts(self) -> Int64:
        """(cohort hour, team, endpoint, model) of each task, shape (n, 4)."""
        return np.stack([self.cohort_hour_us, self.team, self.endpoint, self.model]).T


@dataclass(frozen=True, slots=True, eq=False)
class TaskParts:
    """Rows of tasks by hour, as stored: what each task did in each of some hours. Parallel columns of shape (n,)."""

    task_key: Int64
    hour_us: Int64
    first_started_us: Int64
    team: Int64
    endpoint: Int64
    model: Int64
    last_attempt: Int64  # highest client attempt, 0 if none is known
    escalated: Int64  # 0 or 1

    def __len__(self) -> int:
        return len(self.task_key)

    def take(self, rows: Bools | Rows) -> TaskParts:
        return TaskParts(
            self.task_key[rows], self.hour_us[rows], self.first_started_us[rows], self.team[rows],
            self.endpoint[rows], self.model[rows], self.last_attempt[rows], self.escalated[rows],
        )  # fmt: skip

    @classmethod
    def joined(cls, *parts: TaskParts) -> TaskParts:
        """The rows of all of them."""
        return cls(*[np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)])

    def heads(self) -> Heads:
        """The earliest first request of each task; of one request, what the hour of its start says."""
        elsewhere = self.first_started_us // HOUR_US * HOUR_US != self.hour_us
        order = np.lexsort((self.hour_us, elsewhere, self.first_started_us, self.task_key))
        keys = self.task_key[order]
        rows = order[np.append(True, keys[1:] != keys[:-1])] if len(order) else order
        return Heads(
            self.task_key[rows], self.first_started_us[rows], self.team[rows], self.endpoint[rows], self.model[rows]
        )


@dataclass(frozen=True, slots=True, eq=False)
class HourTasks:
    """The tasks that touch the hour, `task_key` ascending, and for each attempt the row of its task (-1: none)."""

    task_key: Int64
    of_attempt: Int32
    seen: Heads


def hour_tasks(attempts: Attempts, served_from_us: Int64) -> HourTasks:
    """`attempts`: those that start in the hour or run over into it.

    Of a call that fell back, the attempt that was made first is the first, though the last one carries its start.
    """
    rows = np.flatnonzero(attempts.task_key != NO_KEY)
    of_attempt = np.full(len(attempts), -1, dtype=np.int32)
    if len(rows) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return HourTasks(nothing, of_attempt, Heads(nothing, nothing, nothing, nothing, nothing))
    order = rows[np.argsort(attempts.task_key[rows])]
    keys = attempts.task_key[order]
    opens = np.append(True, keys[1:] != keys[:-1])
    of_attempt[order] = np.cumsum(opens, dtype=np.int32) - 1
    head = _first_of_each(attempts, served_from_us, order, np.flatnonzero(opens))
    owner = attempts.owners[attempts.owner[head]]
    seen = Heads(keys[opens], served_from_us[head], owner[:, TEAM], owner[:, ENDPOINT], owner[:, MODEL])
    return HourTasks(keys[opens], of_attempt, seen)


def _first_of_each(attempts: Attempts, served_from_us: Int64, order: Rows, starts: Rows) -> Rows:
    """The first attempt of each task; `order` holds attempts by task, `starts` the places where a task begins."""
    started = served_from_us[order]
    sizes = np.diff(np.append(starts, len(order)))
    is_first = started == np.repeat(np.minimum.reduceat(started, starts), sizes)
    first = order[is_first]
    # Mostly one a task.
    keys = attempts.task_key[first]
    tied = np.append(keys[1:] == keys[:-1], False) | np.append(False, keys[1:] == keys[:-1])
    if tied.any():
        first[tied] = attempts.sorted_by(first[tied], (keys[tied], attempts.closed_us[first[tied]]))
    heads: Rows = first[np.append(True, keys[1:] != keys[:-1])]
    return heads


def earliest(seen: Heads, others: Heads, hour_us: int) -> Heads:
    """The first request of each task of `seen`, which the hour sees, looking also at what other hours see."""
    if len(others.task_key) == 0:
        return seen
    at = np.minimum(np.searchsorted(others.task_key, seen.task_key), len(others.task_key) - 1)
    other_start = others.first_started_us[at]
    # Of one request that both see, the hour of its start tells.
    runs_over = seen.first_started_us < hour_us
    better = (other_start < seen.first_started_us) | ((other_start == seen.first_started_us) & runs_over)
    better &= others.task_key[at] == seen.task_key
    return Heads(
        seen.task_key,
        np.where(better, other_start, seen.first_started_us),
        np.where(better, others.team[at], seen.team),
        np.where(better, others.endpoint[at], seen.endpoint),
        np.where(better, others.model[at], seen.model),
    )


def work_of(attempts: Attempts, calls: CallOrder, tasks: HourTasks, heads: Heads) -> Int8:
    """Why each attempt was made. What the gateway says of a call goes before what the client counts."""
    again = np.flatnonzero((attempts.attempt > 1) & (tasks.of_attempt >= 0) & (calls.work == Work.FIRST))
    work = calls.work.copy()
    same = attempts.model[again] == heads.model[tasks.of_attempt[again]]
    work[again] = np.where(same, Work.RETRY, Work.ESCALATION)
    return work


def last_attempts(attempts: Attempts, tasks: HourTasks, own: Bools) -> Int16:
    """Highest client attempt of each task among the own attempts; 0 where none is known."""
    highest = np.zeros(len(tasks.task_key), dtype=np.int16)
    rows = np.flatnonzero(own & (tasks.of_attempt >= 0) & (attempts.attempt > 0))
    np.maximum.at(highest, tasks.of_attempt[rows], attempts.attempt[rows])
    return highest


def escalated(tasks: HourTasks, own: Bools, work: Int8) -> Bools:
    """Whether a task has an escalation among the own attempts."""
    found = np.zeros(len(tasks.task_key), dtype=np.bool_)
    found[tasks.of_attempt[own & (tasks.of_attempt >= 0) & (work == Work.ESCALATION)]] = True
    return found
