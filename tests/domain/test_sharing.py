"""Tier A against what it claims to be: the exact Shapley value of the busy-time game."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.rollups.domain.sharing import UNITS_PER_US, share

Interval = tuple[int, int]
interval = st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1]))


def units(intervals: list[Interval], lanes: list[int] | None = None) -> tuple[list[int], list[int]]:
    lane = np.array(lanes or [0] * len(intervals), dtype=np.int64)
    columns = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    found = share(lane, columns[:, 0], columns[:, 1], int(lane.max()) + 1 if len(lane) else 1)
    return found.units.tolist(), found.busy_us.tolist()


def union_length(intervals: list[Interval]) -> int:
    return len({moment for start, end in intervals for moment in range(start, end)})


def brute_force(intervals: list[Interval]) -> list[Fraction]:
    """The mean over all orders of joining of what each adds to the union's length."""
    count = len(intervals)
    worth = [union_length([intervals[i] for i in range(count) if members >> i & 1]) for members in range(1 << count)]
    total = [0] * count
    orders = list(permutations(range(count)))
    for order in orders:
        members = 0
        for player in order:
            total[player] += worth[members | 1 << player] - worth[members]
            members |= 1 << player
    return [Fraction(value, len(orders)) for value in total]


def swept(intervals: list[Interval]) -> list[Fraction]:
    """The closed form, instant by instant."""
    parts = [Fraction(0)] * len(intervals)
    for low, high in pairwise(sorted({edge for pair in intervals for edge in pair})):
        running = [i for i, (start, end) in enumerate(intervals) if start <= low and high <= end]
        for i in running:
            parts[i] += Fraction(high - low, len(running))
    return parts


@given(st.lists(interval, min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_equal_division_is_the_shapley_value(intervals: list[Interval]) -> None:
    found, _ = units(intervals)
    assert [Fraction(unit, UNITS_PER_US) for unit in found] == brute_force(intervals)


@given(st.lists(interval, min_size=6, max_size=7))
@settings(max_examples=4, deadline=None)
def test_equal_division_is_the_shapley_value_for_seven(intervals: list[Interval]) -> None:
    found, _ = units(intervals)
    assert [Fraction(unit, UNITS_PER_US) for unit in found] == brute_force(intervals)


def test_the_worked_vector() -> None:
    found, busy = units([(0, 10), (6, 8), (4, 12), (20, 21)])
    assert busy == [13]
    a1, a2, b, c = (Fraction(unit, UNITS_PER_US) for unit in found)
    assert (a1 + a2, b, c) == (Fraction(22, 3), Fraction(14, 3), 1)


@given(st.lists(interval, max_size=22))
@settings(max_examples=100, deadline=None)
def test_shares_sum_to_busy_exactly_up_to_22_at_once(intervals: list[Interval]) -> None:
    found, busy = units(intervals)
    assert sum(found) == union_length(intervals) * UNITS_PER_US == sum(busy) * UNITS_PER_US
    assert [Fraction(unit, UNITS_PER_US) for unit in found] == swept(intervals)


def test_above_22_at_once_under_a_unit_a_segment_is_lost() -> None:
    found, busy = units([(0, 1000)] * 23)
    assert busy == [1000]
    assert 0 < 1000 * UNITS_PER_US - sum(found) < 23


@given(st.lists(interval, min_size=1, max_size=10), st.data())
@settings(max_examples=60, deadline=None)
def test_two_consecutive_halves_have_the_share_of_the_whole(intervals: list[Interval], data: st.DataObject) -> None:
    (start, end), rest = intervals[0], intervals[1:]
    middle = data.draw(st.integers(start, end))
    whole, _ = units([(start, end), *rest])
    halves, _ = units([(start, middle), (middle, end), *rest])
    assert [halves[0] + halves[1], *halves[2:]] == whole


@given(st.lists(interval, min_size=1, max_size=10), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_changes_nothing(intervals: list[Interval], random: object) -> None:
    order = list(range(len(intervals)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found, _ = units(intervals)
    shuffled, _ = units([intervals[i] for i in order])
    assert shuffled == [found[i] for i in order]


@given(st.lists(interval, min_size=1, max_size=10), interval)
@settings(max_examples=60, deadline=None)
def test_one_more_request_never_raises_the_share_of_another(intervals: list[Interval], one_more: Interval) -> None:
    before, _ = units(intervals)
    after, _ = units([*intervals, one_more])
    assert all(now <= then for now, then in zip(after, before, strict=False))


@given(st.lists(st.tuples(interval, st.integers(0, 3)), min_size=1, max_size=16))
@settings(max_examples=60, deadline=None)
def test_replicas_do_not_meet(pairs: list[tuple[Interval, int]]) -> None:
    found, busy = units([pair for pair, _ in pairs], [lane for _, lane in pairs])
    for wanted in {lane for _, lane in pairs}:
        alone, busy_alone = units([pair for pair, lane in pairs if lane == wanted])
        assert [unit for unit, (_, lane) in zip(found, pairs, strict=True) if lane == wanted] == alone
        assert busy[wanted] == busy_alone[0]


@pytest.mark.parametrize("lanes", [1, 12])
def test_a_full_hour_of_many_replicas_does_not_overflow(lanes: int) -> None:
    hour = 3_600_000_000
    found, busy = units([(0, hour)] * lanes, list(range(lanes)))
    assert found == [hour * UNITS_PER_US] * lanes
    assert busy == [hour] * lanes


def test_nothing_shares_nothing() -> None:
    assert units([]) == ([], [0])
    assert units([(5, 5), (0, 9)]) == ([0, 9 * UNITS_PER_US], [9])
