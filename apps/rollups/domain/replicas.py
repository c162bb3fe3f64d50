"""Turns request times, engine minutes, outages and holdings into how each replica spent the hour, and the shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from apps.core.vocabulary import Status, Tier
from apps.rollups.domain.attempts import NO_TIME, REPLICA, Attempts, Bools, Int32, Int64, Rows
from apps.rollups.domain.engine import Engine
from apps.rollups.domain.intervals import NOTHING, Spans, difference, intersection, length, spans, union
from apps.rollups.domain.logged import logged_tokens
from apps.rollups.domain.sharing import share

_NEVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """What is known of a replica beside requests. `held_from_us` None: since its first evidence, of which
    `seen_before_us` is the earliest that other hours know."""

    held_from_us: int | None = None
    held_until_us: int | None = None
    seen_before_us: int | None = None
    down: Spans = field(default_factory=lambda: NOTHING)
    load: Spans = field(default_factory=lambda: NOTHING)
    engine: Engine | None = None


@dataclass(frozen=True, slots=True)
class ReplicaFact:
    """One replica's hour, in µs: held = load + busy + idle + down."""

    replica_id: int
    held_us: int
    load_us: int
    busy_us: int
    idle_us: int
    down_us: int
    tier: Tier
    logged_prompt_tokens: int
    logged_generation_tokens: int
    engine: Engine | None
    evidence_us: int | None
    """First sign in this hour that the replica was there."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaFacts:
    facts: list[ReplicaFact]
    units: Int64
    """Tier A share of each attempt, shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Lanes:
    """Replicas that count in this hour, numbered; `of_attempt` is -1 for attempts on others."""

    replicas: list[int]
    states: list[ReplicaState]
    held: list[Spans]
    evidence: list[int | None]
    of_attempt: Int32


def replica_facts(
    attempts: Attempts, served_from_us: Int64, states: Mapping[int, ReplicaState], hour: tuple[int, int]
) -> ReplicaFacts:
    """`attempts`: those that start in the hour or run over into it; `hour`: its start, and its end or the present.

    A replica counts if it was held in the hour or if something was answered by it.
    """
    alive = _signs_of_life(attempts)
    lanes = _lanes(attempts, served_from_us, alive, states, hour)
    timed = _timed(attempts, lanes)
    rows, pieces = _intervals(attempts, served_from_us, alive, lanes, timed, hour)
    shared = share(lanes.of_attempt[rows], pieces[:, 0] - hour[0], pieces[:, 1] - hour[0], len(lanes.replicas))
    units = np.zeros(len(attempts), dtype=np.int64)
    np.add.at(units, rows, shared.units)
    prompt, generated = logged_tokens(attempts, lanes.of_attempt, len(lanes.replicas), hour)
    facts = []
    for number in range(len(lanes.replicas)):
        outages = len(lanes.states[number].down) + len(lanes.states[number].load)
        busy = union(pieces[lanes.of_attempt[rows] == number]) if outages else NOTHING
        busy_us = int(shared.busy_us[number]) if timed[number] else None
        facts.append(_balance(lanes, number, busy, busy_us, (int(prompt[number]), int(generated[number]))))
    return ReplicaFacts(facts, units)


def _balance(lanes: _Lanes, number: int, busy: Spans, busy_us: int | None, logged: tuple[int, int]) -> ReplicaFact:
    """`busy`: when requests ran, as far as outages make it matter; `busy_us` None: requests have no times."""
    state, held = lanes.states[number], lanes.held[number]
    load = difference(intersection(held, state.load), busy)
    down = difference(difference(intersection(held, state.down), state.load), busy)
    held_us, load_us, down_us = length(held), length(load), length(down)
    tier = Tier.WEIGHTED_TOKENS if busy_us is None else Tier.SHARED_TIME
    if busy_us is None:
        busy_us = _engine_busy_us(state.engine, held_us - load_us - down_us)
    return ReplicaFact(
        replica_id=lanes.replicas[number],
        held_us=held_us,
        load_us=load_us,
        busy_us=busy_us,
        idle_us=held_us - load_us - busy_us - down_us,
        down_us=down_us,
        tier=tier,
        logged_prompt_tokens=logged[0],
        logged_generation_tokens=logged[1],
        engine=state.engine,
        evidence_us=lanes.evidence[number],
    )


def _engine_busy_us(engine: Engine | None, up_us: int) -> int:
    """Busy time by the engine's minutes. Scrapes do not keep to the hour, so of more than the time up, its share."""
    if engine is None or engine.covered_seconds <= 0:
        return 0
    scale = min(1.0, up_us / 1e6 / engine.covered_seconds)
    return round(engine.busy_seconds * scale * 1e6)


def _signs_of_life(attempts: Attempts) -> Bools:
    """Attempts that show that the replica was serving: answered, or broken off by the client after some tokens."""
    tokens = (attempts.output_tokens > 0) | (attempts.first_token_us != NO_TIME)
    alive: Bools = attempts.ok | ((attempts.status == Status.ABORTED) & tokens)
    return alive


def _lanes(
    attempts: Attempts,
    served_from_us: Int64,
    alive: Bools,
    states: Mapping[int, ReplicaState],
    hour: tuple[int, int],
) -> _Lanes:
    evidence = {id_: state.engine.first_us for id_, state in states.items() if state.engine and state.engine.scrapes}
    first = np.full(len(attempts.owners), _NEVER, dtype=np.int64)
    np.minimum.at(first, attempts.owner[alive], served_from_us[alive])
    for id_, at in zip(attempts.owners[:, REPLICA].tolist(), np.maximum(first, hour[0]).tolist(), strict=True):
        if at != _NEVER:
            known = evidence.get(id_)
            evidence[id_] = at if known is None else min(at, known)
    evidence.pop(0, None)
    known_states = {id_: states.get(id_, ReplicaState()) for id_ in sorted(set(states) | set(evidence))}
    held = {id_: _held(state, evidence.get(id_), hour) for id_, state in known_states.items()}
    replicas = [id_ for id_ in known_states if len(held[id_]) or id_ in evidence]
    place = np.full(int(max([0, *replicas, *attempts.owners[:, REPLICA].tolist()])) + 1, -1, dtype=np.int32)
    place[replicas] = np.arange(len(replicas))
    return _Lanes(
        replicas,
        [known_states[id_] for id_ in replicas],
        [held[id_] for id_ in replicas],
        [evidence.get(id_) for id_ in replicas],
        place[attempts.replica],
    )


def _held(state: ReplicaState, evidence_us: int | None, hour: tuple[int, int]) -> Spans:
    begin = state.held_from_us
    if begin is None:
        begin = min((at for at in (evidence_us, state.seen_before_us) if at is not None), default=hour[1])
    end = hour[1] if state.held_until_us is None else state.held_until_us
    return spans([(max(begin, hour[0]), min(end, hour[1]))])


def _timed(attempts: Attempts, lanes: _Lanes) -> list[bool]:
    """Whether a lane rests on request times: not if most requests have no end, or only the engine was seen busy."""
    count = len(lanes.replicas)
    admitted = attempts.admitted & (lanes.of_attempt >= 0)
    ended = attempts.ended_us != NO_TIME
    with_end = np.bincount(lanes.of_attempt[admitted & ended], minlength=count)
    without = np.bincount(lanes.of_attempt[admitted & ~ended], minlength=count)
    engines = [state.engine for state in lanes.states]
    return [
        bool(without[i] <= with_end[i] and (with_end[i] or engine is None or not engine.busy_seconds))
        for i, engine in enumerate(engines)
    ]


def _intervals(
    attempts: Attempts,
    served_from_us: Int64,
    alive: Bools,
    lanes: _Lanes,
    timed: list[bool],
    hour: tuple[int, int],
) -> tuple[Rows, Spans]:
    """Rows of attempts with the times in which they used their replica, clipped to the hour: (m,) and (m, 2).

    What failed while the replica was away waited for nobody, so outages are cut out of it; that may leave two pieces.
    """
    counts = np.append(np.array(timed, dtype=np.bool_), False)[lanes.of_attempt]
    rows = np.flatnonzero(counts & attempts.admitted & (attempts.ended_us != NO_TIME))
    begin = np.maximum(served_from_us[rows], hour[0])
    end = np.minimum(attempts.ended_us[rows], hour[1])
    rows, begin, end = rows[end > begin], begin[end > begin], end[end > begin]
    pieces = np.stack([begin, end], axis=1)
    away = [union(np.concatenate([state.down, state.load])) for state in lanes.states]
    has_away = np.array([len(spans_) > 0 for spans_ in away], dtype=np.bool_)
    cut = np.flatnonzero(~alive[rows] & has_away[lanes.of_attempt[rows]]).tolist()
    if not cut:
        return rows, pieces
    left = [(i, difference(pieces[i : i + 1], away[lanes.of_attempt[rows[i]]])) for i in cut]
    kept = np.delete(np.arange(len(rows)), cut)
    again = np.repeat([i for i, _ in left], [len(spans_) for _, spans_ in left])
    return rows[np.append(kept, again).astype(np.intp)], np.concatenate([pieces[kept], *[s for _, s in left]])
