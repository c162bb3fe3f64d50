"""Turns what tasks used in an hour and their newest outcomes into cohorts, and into shares by cohort and decision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.core.vocabulary import Decision
from apps.rollups.domain.attempts import Attempts, Bools, Int8, Int32, Int64
from apps.rollups.domain.tasks import Heads, HourTasks, TaskParts
from apps.rollups.domain.usage import Groups, compact


@dataclass(frozen=True, slots=True, eq=False)
class TaskPieces:
    """What each task used in one hour: all that deciding needs, so that an outcome does not read requests again."""

    task_key: Int64  # (n,), ascending
    cohort: Int32  # (n,), row of `cohorts`
    cohorts: Int64  # (c, 4): cohort hour in µs, team, endpoint, model
    piece_task: Int32  # (p,), row of `task_key`
    piece_group: Int32  # (p,), row of `dimensions`
    units: Int64  # (p,)
    dimensions: Int64  # (g, 8), as of usage


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The newest outcome of those tasks that have one: parallel columns, `task_key` ascending."""

    task_key: Int64
    accepted: Bools
    reworked: Bools
    review_minutes_e4: Int64


@dataclass(frozen=True, slots=True, eq=False)
class CohortColumns:
    """Tasks of one cohort hour: `keys` (k, 4) are team, endpoint, model and decision; the rest is (k,)."""

    keys: Int64
    tasks: Int64
    retried: Int64
    escalated: Int64
    review_minutes_e4: Int64


@dataclass(frozen=True, slots=True, eq=False)
class ShareColumns:
    """`keys` (k, 13): the dimensions of usage, cohort hour in µs, cohort team, endpoint and model, decision."""

    keys: Int64
    units: Int64


def pieces_of(attempts: Attempts, tasks: HourTasks, heads: Heads, groups: Groups, units: Int64) -> TaskPieces:
    """The pieces of the admitted attempts; what was refused used nothing."""
    cohorts, cohort = _distinct(heads.cohorts())
    rows = np.flatnonzero((tasks.of_attempt >= 0) & attempts.admitted)
    code = tasks.of_attempt[rows].astype(np.int64) * max(len(groups), 1) + groups.of_attempt[rows]
    codes, summed = sum_by(code, units[rows])
    task, group = np.divmod(codes, max(len(groups), 1))
    return TaskPieces(
        tasks.task_key,
        cohort,
        cohorts,
        task.astype(np.int32),
        group.astype(np.int32),
        summed,
        groups.dimensions,
    )


def _distinct(rows: Int64) -> tuple[Int64, Int32]:
    """Distinct rows of (n, k), ascending, and the place of each row among them; k sorts of few values."""
    code = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        values, place = compact(column - (column.min() if len(column) else 0))
        code = code * max(len(values), 1) + place
        code = compact(code)[1].astype(np.int64)
    codes, place = compact(code)
    first = np.zeros(len(codes), dtype=np.intp)
    first[place[::-1]] = np.arange(len(rows))[::-1]
    return rows[first], place


def sum_by(code: Int64, values: Int64) -> tuple[Int64, Int64]:
    """Distinct codes, ascending, and the exact sum of the values of each."""
    if len(code) == 0:
        return code, values
    order = np.argsort(code)
    ordered = code[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], np.add.reduceat(values[order], starts)


def decisions(task_key: Int64, outcomes: Outcomes) -> tuple[Int8, Int64]:
    """Decision and review minutes × 10^4 of each task; both of shape (n,)."""
    decision = np.full(len(task_key), Decision.UNDECIDED, dtype=np.int8)
    minutes = np.zeros(len(task_key), dtype=np.int64)
    at = np.searchsorted(task_key, outcomes.task_key)
    accepted = np.where(outcomes.reworked, Decision.REWORKED, Decision.ACCEPTED)
    decision[at] = np.where(outcomes.accepted, accepted, Decision.REJECTED)
    minutes[at] = outcomes.review_minutes_e4
    return decision, minutes


def task_shares(pieces: TaskPieces, decision: Int8) -> ShareColumns:
    """Shares of the hour by usage row, cohort and decision."""
    count, kinds = len(pieces.cohorts), len(Decision)
    task = pieces.piece_task
    code = (pieces.piece_group.astype(np.int64) * count + pieces.cohort[task]) * kinds + decision[task]
    codes, units = sum_by(code, pieces.units)
    rest, chosen = np.divmod(codes, kinds)
    group, cohort = np.divmod(rest, max(count, 1))
    return ShareColumns(np.column_stack([pieces.dimensions[group], pieces.cohorts[cohort], chosen]), units)


def cohorts_of(hour_us: int, pieces: TaskPieces, decision: Int8, minutes_e4: Int64, parts: TaskParts) -> CohortColumns:
    """The tasks whose first request is in the hour. `parts`: what these tasks did, in this hour and in others."""
    mine = np.flatnonzero(pieces.cohorts[pieces.cohort, 0] == hour_us)
    retried, escalated = _flags(pieces.task_key, parts)
    code = pieces.cohort[mine].astype(np.int64) * len(Decision) + decision[mine]
    codes, places = np.unique(code, return_inverse=True)
    cohort, chosen = np.divmod(codes, len(Decision))

    def total(values: Int64) -> Int64:
        return np.bincount(places, weights=values, minlength=len(codes)).astype(np.int64)  # exact: far below 2^53

    return CohortColumns(
        np.column_stack([pieces.cohorts[cohort, 1:], chosen]),
        np.bincount(places, minlength=len(codes)),
        total(retried[mine].astype(np.int64)),
        total(escalated[mine].astype(np.int64)),
        total(minutes_e4[mine]),
    )


def _flags(task_key: Int64, parts: TaskParts) -> tuple[Bools, Bools]:
    """Whether each task has a client attempt over one, and an escalation, in any hour."""
    retried, escalated = np.zeros(len(task_key), dtype=np.bool_), np.zeros(len(task_key), dtype=np.bool_)
    for flag, rows in ((retried, parts.last_attempt > 1), (escalated, parts.escalated > 0)):
        keys = np.unique(parts.task_key[rows])
        flag[np.isin(task_key, keys, assume_unique=True)] = True
    return retried, escalated
