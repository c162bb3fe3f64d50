"""Turns one hour of attempts, with what is known of replicas and of tasks elsewhere, into the facts of the hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from apps.rollups.domain.attempts import Attempts, Bools
from apps.rollups.domain.calls import HOUR_US, order_calls
from apps.rollups.domain.decide import TaskPieces, pieces_of
from apps.rollups.domain.replicas import ReplicaFact, ReplicaState, replica_facts
from apps.rollups.domain.tasks import (
    TaskParts,
    earliest,
    escalated,
    hour_tasks,
    last_attempts,
    work_of,
)
from apps.rollups.domain.usage import Usage, group, usage_of


@dataclass(frozen=True, slots=True, eq=False)
class HourFold:
    """The facts of one hour."""

    usage: Usage
    replicas: list[ReplicaFact]
    parts: TaskParts
    pieces: TaskPieces


def fold(
    hour_us: int,
    as_of_us: int,
    attempts: Attempts,
    near: Bools,
    states: Mapping[int, ReplicaState],
    elsewhere: TaskParts,
) -> HourFold:
    """Fold the hour that starts at `hour_us`, as seen at `as_of_us`.

    `near` marks attempts that start in another hour and do not touch this one: they only tell the order of their
    calls. `elsewhere`: what other hours know of the same tasks. The order of all these does not matter.
    """
    order = order_calls(attempts)
    here = ~near
    touching = attempts.take(here) if near.any() else attempts
    calls = order.take(here) if near.any() else order
    own = (touching.started_us >= hour_us) & (touching.started_us < hour_us + HOUR_US)
    tasks = hour_tasks(touching, calls.served_from_us)
    heads = earliest(tasks.seen, elsewhere.heads(), hour_us)
    work = work_of(touching, calls, tasks, heads)
    groups = group(touching, work)
    window = (hour_us, max(hour_us, min(hour_us + HOUR_US, as_of_us)))
    replicas = replica_facts(touching, calls.served_from_us, states, window)
    count = len(tasks.task_key)
    parts = TaskParts(
        tasks.task_key,
        np.full(count, hour_us, dtype=np.int64),
        tasks.seen.first_started_us,
        tasks.seen.team,
        tasks.seen.endpoint,
        tasks.seen.model,
        last_attempts(touching, tasks, own).astype(np.int64),
        escalated(tasks, own, work).astype(np.int64),
    )
    return HourFold(
        usage_of(touching, groups, own, calls.last, replicas.units),
        replicas.facts,
        parts,
        pieces_of(touching, tasks, heads, groups, replicas.units),
    )
