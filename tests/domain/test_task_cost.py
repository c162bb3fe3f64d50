"""What tasks cost: lines divided over cohorts, review minutes in money, the bridge to an accepted task."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.attribution.domain.allocate import allocate_replica_hour
from apps.attribution.domain.bridge import TaskCounts, is_pending, task_cost_row
from apps.attribution.domain.costs import Sum
from apps.attribution.domain.lines import Line
from apps.attribution.domain.task_cost import BY_TOKENS, Kind, review_costs_of_hour, task_costs_of_hour
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component, Decision, Tier, Work
from apps.rollups.domain.facts import CohortRow
from tests.domain.ledger_facts import (
    HOUR,
    MODEL,
    SECOND,
    book,
    holding,
    price,
    replica_hour,
    reviewer,
    task_share,
    usage,
)


def lines_of(rows: list[Any], amount: str = "1.00", **more: Any) -> list[Line]:
    return allocate_replica_hour(replica_hour(busy=3600 * SECOND, **more), rows, holding(), book(price(amount)))


def money(text: str) -> Decimal:
    return Decimal(text)


def test_a_line_is_divided_over_cohorts_and_what_is_nobodys_task_stays_out() -> None:
    row = usage(1, 100)
    shares = [
        task_share(row, 35, Decision.ACCEPTED),
        task_share(row, 25, Decision.ACCEPTED, hours_ago=1),
        task_share(row, 0, Decision.REJECTED),
    ]
    costs = task_costs_of_hour(lines_of([row]), [row], shares)
    assert [(c.cohort_hour, c.decision, c.amount) for c in costs] == [
        (HOUR - timedelta(hours=1), Decision.ACCEPTED, money("0.250000")),
        (HOUR, Decision.ACCEPTED, money("0.350000")),
        (HOUR, Decision.REJECTED, money("0.000000")),
    ]


def test_lines_of_one_cohort_are_summed_by_why_the_work_was_done() -> None:
    rows = [usage(1, 50), usage(1, 30, work=Work.RETRY), usage(1, 15, work=Work.FALLBACK), usage(2, 5, work=Work.RETRY)]
    shares = [task_share(row, row.share_units) for row in rows[:3]]
    shares.append(replace(task_share(rows[3], 5), cohort_team_id=1))
    costs = task_costs_of_hour(lines_of(rows), rows, shares)
    assert {c.kind: c.amount for c in costs} == {
        Kind.FIRST: money("0.500000"),
        Kind.RETRY: money("0.350000"),
        Kind.FALLBACK: money("0.150000"),
    }


def test_quanta_left_over_go_to_the_largest_remainder() -> None:
    # 0.000010 over 1:1:1 is 3.33 quanta each: one is over, and the first cohort in order gets it
    row = usage(1, 3)
    shares = [task_share(row, 1, hours_ago=n) for n in range(3)]
    costs = task_costs_of_hour(lines_of([row], "0.00001"), [row], shares)
    assert [c.amount for c in costs] == [money("0.000004"), money("0.000003"), money("0.000003")]


def test_no_price_makes_the_cost_of_tasks_unknown_with_the_reason() -> None:
    row = usage(1, 10)
    lines = allocate_replica_hour(replica_hour(busy=3600 * SECOND), [row], holding(), book())
    (cost,) = task_costs_of_hour(lines, [row], [task_share(row, 10)])
    assert (cost.amount, cost.reason) == (None, "no price for GPU type H200")


def test_lines_shared_by_tokens_do_not_pretend_to_know_tasks() -> None:
    row = usage(1, 0, output_tokens=9)
    lines = lines_of([row], tier=Tier.WEIGHTED_TOKENS)
    (cost,) = task_costs_of_hour(lines, [row], [task_share(row, 0)])
    assert (cost.amount, cost.reason) == (None, BY_TOKENS)


def test_idle_is_in_no_task() -> None:
    row = usage(1, 10)
    lines = allocate_replica_hour(replica_hour(busy=900 * SECOND), [row], holding(), book(price("4.00")))
    (cost,) = task_costs_of_hour(lines, [row], [task_share(row, 10)])
    assert cost.amount == money("1.000000")
    assert {line.component for line in lines} == {Component.SHARED, Component.IDLE}


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 10**17), max_size=5), min_size=1, max_size=5),
    st.lists(st.integers(0, 10**16), min_size=5, max_size=5),
    st.decimals("0", "50", places=6),
)
def test_tasks_and_the_untasked_part_add_up_to_the_shared_lines(
    tasks: list[list[int]], untasked: list[int], amount: Decimal
) -> None:
    rows = [usage(team, sum(units) + untasked[team]) for team, units in enumerate(tasks)]
    shares = [task_share(rows[team], u, hours_ago=n) for team, units in enumerate(tasks) for n, u in enumerate(units)]
    lines = lines_of(rows, str(amount))
    costs = task_costs_of_hour(lines, rows, shares)
    for team, units in enumerate(tasks):
        line = sum(x.amount or 0 for x in lines if x.component == Component.SHARED and x.team_id == team)
        mine = sum(c.amount or 0 for c in costs if c.team_id == team)
        assert mine == line if not untasked[team] and any(units) else 0 <= mine <= line
    assert task_costs_of_hour(lines, rows, shares[::-1]) == costs


def test_review_minutes_cost_the_endpoints_own_price_else_the_general_one() -> None:
    def cohort(endpoint: int, minutes: str) -> CohortRow:
        return CohortRow(HOUR, 1, endpoint, MODEL, Decision.ACCEPTED, 1, 0, 0, Decimal(minutes))

    prices = book(reviewer("45"), reviewer("60", endpoint=8, number=51))
    costs = review_costs_of_hour([cohort(7, "12.5"), cohort(8, "0.1"), cohort(9, "0")], prices)
    assert [(c.endpoint_id, c.kind, c.amount, c.price_id) for c in costs] == [
        (7, Kind.REVIEW, money("9.375"), 50),
        (8, Kind.REVIEW, money("0.1"), 51),
    ]
    (unknown,) = review_costs_of_hour([cohort(7, "1")], book())
    assert (unknown.amount, unknown.reason) == (None, "no price for an hour of review")


# --- the bridge


def priced(amount: str, lines: int = 1, unpriced: int = 0, reason: str = "", currency: str = "USD") -> Sum:
    return Sum(Decimal(amount), lines, unpriced, reason, (currency, currency))


COUNTS = TaskCounts(
    accepted=2, reworked=1, rejected=1, expired=1, pending=3, retried=2, escalated=1, review_minutes=Decimal("5")
)
COSTS = {
    (False, Kind.FIRST): priced("10"),
    (False, Kind.RETRY): priced("2"),
    (False, Kind.FALLBACK): priced("1"),
    (False, Kind.ESCALATION): priced("3"),
    (False, Kind.REVIEW): priced("4"),
    (True, Kind.FIRST): priced("100"),
}


def test_all_decided_tasks_pay_for_the_accepted_ones_and_pending_ones_are_in_neither_number() -> None:
    row = task_cost_row(None, {}, COUNTS, COSTS)
    assert (row.compute, row.retries, row.fallbacks, row.escalations, row.review) == (10, 2, 1, 3, 4)
    assert (row.serving, row.total, row.pending_cost) == (16, 20, 100)
    assert (row.cost_per_accepted, row.serving_per_accepted) == (10, 8)
    assert row.acceptance_rate == Decimal("0.4")
    assert (row.tasks, row.decided, row.currency, row.basis) == (8, 5, "USD", "usage")
    assert row.small_sample
    assert not row.partial


@pytest.mark.parametrize(("accepted", "small"), [(29, True), (30, False)])
def test_a_small_sample_is_flagged(accepted: int, small: bool) -> None:
    assert task_cost_row(None, {}, replace(COUNTS, accepted=accepted), COSTS).small_sample is small


def test_no_accepted_task_has_no_unit_cost() -> None:
    row = task_cost_row(None, {}, replace(COUNTS, accepted=0), COSTS)
    assert row.cost_per_accepted == Unknown("no accepted tasks")
    assert row.total == 20


def test_nothing_decided_has_no_acceptance_rate() -> None:
    row = task_cost_row(None, {}, TaskCounts(pending=4), {(True, Kind.FIRST): priced("1")})
    assert row.acceptance_rate == Unknown("no decided tasks")
    assert (row.total, row.pending_cost) == (0, 1)


def test_review_without_a_price_leaves_the_total_unknown_and_serving_known() -> None:
    costs = {**COSTS, (False, Kind.REVIEW): Sum(Decimal(0), 1, 1, "no price for an hour of review")}
    row = task_cost_row(None, {}, COUNTS, costs)
    assert row.cost_per_accepted == row.review == Unknown("no price for an hour of review")
    assert row.serving_per_accepted == 8


def test_serving_that_is_priced_in_part_is_flagged() -> None:
    costs = {**COSTS, (False, Kind.FIRST): priced("10", lines=3, unpriced=1, reason="no price for GPU type H200")}
    row = task_cost_row(None, {}, COUNTS, costs)
    assert (row.total, row.partial, row.reason) == (20, True, "no price for GPU type H200")


def test_currencies_are_not_added() -> None:
    row = task_cost_row(None, {}, COUNTS, {**COSTS, (False, Kind.RETRY): priced("2", currency="EUR")})
    assert row.serving == Unknown("amounts in EUR and USD cannot be added")
    assert isinstance(row.cost_per_accepted, Unknown)
    assert row.retries == 2


def test_tasks_of_hours_that_are_not_attributed_do_not_cost_nothing() -> None:
    why = Unknown("the hours of these tasks are not attributed yet")
    row = task_cost_row(None, {}, COUNTS, {}, waiting=5)
    assert row.cost_per_accepted == row.serving_per_accepted == row.total == why
    assert row.compute == row.retries == row.fallbacks == row.escalations == why
    assert task_cost_row(None, {}, COUNTS, {}).total == 0


def test_review_that_is_not_attributed_is_unknown_and_none_is_zero() -> None:
    why = Unknown("the hours of these tasks are not attributed yet")
    reviewed = replace(COUNTS, review_minutes=Decimal(3))
    assert task_cost_row(None, {}, reviewed, {}, waiting=5).review == why
    assert task_cost_row(None, {}, replace(COUNTS, review_minutes=Decimal(0)), {}, waiting=5).review == 0


def test_what_is_attributed_in_part_is_a_lower_bound() -> None:
    row = task_cost_row(None, {}, COUNTS, COSTS, waiting=2)
    assert (row.total, row.partial) == (20, True)
    assert row.reason == "the hours of 2 of 5 decided tasks are not attributed yet"


def test_pending_tasks_do_not_wait_to_be_attributed() -> None:
    row = task_cost_row(None, {}, TaskCounts(pending=4), {}, waiting=4)
    assert (row.total, row.partial) == (0, False)


def test_a_task_is_pending_until_its_whole_hour_is_past_the_decision_window() -> None:
    end = HOUR + timedelta(hours=73)
    assert is_pending(HOUR, 72, end - timedelta(microseconds=1))
    assert not is_pending(HOUR, 72, end)
