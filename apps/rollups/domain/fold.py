"""Turns one hour of attempts, with what is known of replicas and of tasks elsewhere, into the facts of the hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.rollups.domain.attempts import Attempts, Bools, Int8
from apps.rollups.domain.calls import HOUR_US, CallOrder, order_calls
from apps.rollups.domain.decide import TaskPieces, pieces_of
from apps.rollups.domain.replicas import ReplicaFact, ReplicaState, replica_facts
from apps.rollups.domain.tasks import (
    Heads,
    HourTasks,
    TaskParts,
    earliest,
    escalated,
    hour_tasks,
    last_attempts,
    work_of,
)
from apps.rollups.domain.usage import Usage, group, usage_of


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """Attempts that touch the hour, in the order of their calls and tasks."""

    hour_us: int
    attempts: Attempts
    calls: CallOrder
    own: Bools
    """Those that start in the hour."""
    tasks: HourTasks
    heads: Heads
    work: Int8
    parts: TaskParts
    """What other hours must know of the tasks."""


@dataclass(frozen=True, slots=True, eq=False)
class HourFold:
    """The facts of one hour."""

    usage: Usage
    replicas: list[ReplicaFact]
    pieces: TaskPieces


def order(hour_us: int, attempts: Attempts, near: Bools, elsewhere: TaskParts) -> Ordered:
    """Put the attempts of the hour that starts at `hour_us` in order.

    `near` marks attempts that start in another hour and do not touch this one: they only tell the order of their
    calls. `elsewhere`: what other hours know of the same tasks. In what order all these are given does not matter.
    """
    calls = order_calls(attempts)
    if near.any():
        attempts, calls = attempts.take(~near), calls.take(~near)
    own: Bools = (attempts.started_us >= hour_us) & (attempts.started_us < hour_us + HOUR_US)
    tasks = hour_tasks(attempts, calls.served_from_us)
    heads = earliest(tasks.seen, elsewhere.heads(), hour_us)
    work = work_of(attempts, calls, tasks, heads)
    parts = TaskParts(
        tasks.task_key,
        np.full(len(tasks.task_key), hour_us, dtype=np.int64),
        tasks.seen.first_started_us,
        tasks.seen.team,
        tasks.seen.endpoint,
        tasks.seen.model,
        last_attempts(attempts, tasks, own).astype(np.int64),
        escalated(tasks, own, work).astype(np.int64),
    )
    return Ordered(hour_us, attempts, calls, own, tasks, heads, work, parts)


def fold(ordered: Ordered, as_of_us: int, states: Mapping[int, ReplicaState]) -> HourFold:
    """The facts of the hour as seen at `as_of_us`; `states` by replica id."""
    start = ordered.hour_us
    window = (start, max(start, min(start + HOUR_US, as_of_us)))
    groups = group(ordered.attempts, ordered.work)
    replicas = replica_facts(ordered.attempts, ordered.calls.served_from_us, states, window)
    return HourFold(
        usage_of(ordered.attempts, groups, ordered.own, ordered.calls.last, replicas.units),
        replicas.facts,
        pieces_of(ordered.attempts, ordered.tasks, ordered.heads, groups, replicas.units),
    )
