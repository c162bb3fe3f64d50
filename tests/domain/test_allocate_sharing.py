"""From request times to ledger lines: the sharing of `rollups` and the split of `attribution` together."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.attribution.domain.allocate import allocate_replica_hour
from apps.attribution.domain.lines import Line
from apps.core.vocabulary import Component
from apps.rollups.domain.sharing import share
from tests.domain.ledger_facts import book, holding, price, replica_hour, usage

MINUTE = 60_000_000
Requests = list[tuple[int, int, int]]

requests = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 50 * MINUTE), st.integers(1, 10 * MINUTE)).map(
        lambda x: (x[0], x[1], x[1] + x[2])
    ),
    min_size=1,
    max_size=20,
)


def lines_of(wanted: Requests) -> list[Line]:
    """Lines of a replica-hour at 2.00 that served `wanted`: (team, start µs, end µs)."""
    start = np.array([r[1] for r in wanted], dtype=np.int64)
    end = np.array([r[2] for r in wanted], dtype=np.int64)
    shared = share(np.zeros(len(wanted), dtype=np.int64), start, end, 1)
    units: defaultdict[int, int] = defaultdict(int)
    for (team, _, _), part in zip(wanted, shared.units.tolist(), strict=True):
        units[team] += part
    rows = [usage(team, part) for team, part in units.items()]
    return allocate_replica_hour(replica_hour(busy=int(shared.busy_us[0])), rows, holding(), book(price("2.00")))


@settings(max_examples=60, deadline=None)
@given(requests, st.data())
def test_a_request_cut_in_two_consecutive_halves_costs_the_same(wanted: Requests, data: Any) -> None:
    at = data.draw(st.integers(0, len(wanted) - 1))
    team, start, end = wanted[at]
    middle = data.draw(st.integers(start, end))
    assert lines_of([*wanted[:at], (team, start, middle), (team, middle, end), *wanted[at + 1 :]]) == lines_of(wanted)


@settings(max_examples=40, deadline=None)
@given(requests, st.randoms())
def test_the_order_of_arrival_changes_nothing(wanted: Requests, random: Any) -> None:
    lines = lines_of(wanted)
    random.shuffle(wanted)
    assert lines_of(wanted) == lines


@settings(max_examples=40, deadline=None)
@given(requests, requests)
def test_more_requests_of_another_team_never_make_mine_dearer(mine: Requests, others: Requests) -> None:
    def paid(lines: list[Line], team: int) -> Decimal:
        return sum(
            (x.amount or Decimal(0) for x in lines if x.component == Component.SHARED and x.team_id == team), Decimal(0)
        )

    before, after = lines_of(mine), lines_of([*mine, *((99, start, end) for _, start, end in others)])
    for team in {team for team, _, _ in mine}:
        # to one quantum: rounding may fall the other way
        assert paid(after, team) <= paid(before, team) + Decimal("0.000001")
