"""How a replica spent an hour, without a database: spans of time, outages, what the engine alone has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.vocabulary import Status, Tier
from apps.rollups.domain.attempts import NO_COUNT, NO_KEY, NO_TIME, Attempts
from apps.rollups.domain.engine import Engine
from apps.rollups.domain.intervals import Spans, difference, intersection, length, spans, union
from apps.rollups.domain.replicas import ReplicaFact, ReplicaState, replica_facts
from apps.rollups.domain.sharing import UNITS_PER_US

SECOND = 1_000_000
HOUR = (0, 3600 * SECOND)
pairs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6)


def moments(of: Spans) -> set[int]:
    return {moment for start, end in of.tolist() for moment in range(start, end)}


@given(pairs, pairs)
@settings(max_examples=150, deadline=None)
def test_spans_are_sets_of_time(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    a, b = spans(left), spans(right)
    ours, theirs = ({m for s, e in given_ for m in range(s, e)} for given_ in (left, right))
    assert moments(a) == ours
    assert moments(difference(a, b)) == ours - theirs
    assert moments(intersection(a, b)) == ours & theirs
    assert length(a) == len(ours)
    assert union(a).tolist() == a.tolist()


def attempts(*rows: dict[str, Any]) -> Attempts:
    """Attempts on replica 1 from `start` to `end`, in seconds."""

    def column(name: str, default: int, dtype: type) -> Any:
        return np.array([row.get(name, default) for row in rows], dtype=dtype)

    return Attempts(
        started_us=column("start", 0, np.int64) * SECOND,
        ended_us=np.array([row["end"] * SECOND if "end" in row else NO_TIME for row in rows], dtype=np.int64),
        first_token_us=column("first_token", NO_TIME, np.int64),
        call_key=column("call", NO_KEY, np.int64),
        task_key=column("task", NO_KEY, np.int64),
        queue_us=column("queue", NO_COUNT, np.int64),
        input_tokens=column("input", 10, np.int32),
        cache_read_tokens=column("cached", NO_COUNT, np.int32),
        cache_write_tokens=column("written", NO_COUNT, np.int32),
        output_tokens=column("output", 10, np.int32),
        reasoning_tokens=column("reasoning", NO_COUNT, np.int32),
        attempt=column("attempt", NO_COUNT, np.int16),
        status=column("status", Status.OK, np.int8),
        traffic=column("traffic", 0, np.int8),
        stream=column("stream", 2, np.int8),
        owner=np.zeros(len(rows), dtype=np.int32),
        owners=np.array([[1, 1, 1, 1, 1]], dtype=np.int64),
    )


def folded(state: ReplicaState, *rows: dict[str, Any]) -> tuple[ReplicaFact, list[float]]:
    """The fact of replica 1, and the share of each attempt in seconds."""
    given_ = attempts(*rows)
    found = replica_facts(given_, given_.started_us, {1: state}, HOUR)
    (fact,) = found.facts
    assert fact.held_us == fact.load_us + fact.busy_us + fact.idle_us + fact.down_us
    return fact, [units / UNITS_PER_US / SECOND for units in found.units.tolist()]


def seconds(*pairs_: tuple[int, int]) -> Spans:
    return spans([(start * SECOND, end * SECOND) for start, end in pairs_])


def engine(**more: Any) -> Engine:
    fields: dict[str, Any] = {
        "busy_seconds": 0.0, "covered_seconds": 3600.0, "scrapes": 240, "restarts": 0, "prompt_tokens": 0,
        "generation_tokens": 0, "cached_prompt_tokens": 0, "preemptions": 0, "kv_usage_max": 0.0, "first_us": 0,
    }  # fmt: skip
    return Engine(**fields | more)


def test_what_failed_in_an_outage_is_cut_and_what_was_answered_is_busy() -> None:
    state = ReplicaState(held_from_us=0, down=seconds((100, 200)), load=seconds((200, 300)))
    failed = {"start": 90, "end": 310, "status": Status.SERVER_ERROR, "output": NO_COUNT}
    fact, shares = folded(state, failed, {"start": 190, "end": 210})
    assert shares == [20, 20]  # 90-100 and 300-310; 190-210 alone
    assert (fact.busy_us, fact.down_us, fact.load_us) == (40 * SECOND, 90 * SECOND, 90 * SECOND)
    assert fact.idle_us == (3600 - 40 - 90 - 90) * SECOND


def test_a_hang_up_is_a_sign_of_life_only_with_tokens() -> None:
    state = ReplicaState(held_from_us=0, down=seconds((0, 100)))
    hang_up = {"start": 0, "end": 10, "status": Status.ABORTED}
    assert folded(state, hang_up)[1] == [10]
    assert folded(state, hang_up | {"output": NO_COUNT})[1] == [0]


def test_refused_attempts_use_nothing() -> None:
    rows = [{"start": 0, "end": 10, "status": status} for status in (Status.CLIENT_ERROR, Status.RATE_LIMITED)]
    fact, shares = folded(ReplicaState(held_from_us=0), *rows)
    assert (fact.busy_us, shares) == (0, [0, 0])


def test_idle_is_not_clamped() -> None:
    fact, _ = folded(ReplicaState(held_from_us=0, held_until_us=60 * SECOND), {"start": 0, "end": 100})
    assert (fact.held_us, fact.idle_us) == (60 * SECOND, -40 * SECOND)


def test_unlogged_work_that_the_engine_saw_is_busy_by_its_minutes() -> None:
    fact, _ = folded(ReplicaState(held_from_us=0, engine=engine(busy_seconds=900.0)))
    assert (fact.tier, fact.busy_us) == (Tier.WEIGHTED_TOKENS, 900 * SECOND)
    # Scrapes cover 15 s of the hour before: of the time up, the same share.
    late = ReplicaState(held_from_us=0, engine=engine(busy_seconds=3615.0, covered_seconds=3615.0))
    assert folded(late)[0].busy_us == 3600 * SECOND


def test_a_replica_is_held_since_its_first_sign() -> None:
    request = {"start": 600, "end": 700}
    assert folded(ReplicaState(), request)[0].held_us == 3000 * SECOND
    assert folded(ReplicaState(seen_before_us=-5), request)[0].held_us == 3600 * SECOND
    assert folded(ReplicaState(engine=engine(first_us=60 * SECOND)), request)[0].held_us == 3540 * SECOND
