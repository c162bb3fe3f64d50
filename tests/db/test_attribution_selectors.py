"""Costs, tasks and lines as other rooms read them: every sum ties to the lines, no filter changes another row."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import combinations

import pytest

from apps.attribution import selectors, services
from apps.attribution.models import LedgerLine
from apps.attribution.selectors import TaskCostRow
from apps.attribution.selectors.unpriced import unpriced_lines
from apps.catalog.models import Price
from apps.core.query import DIMENSIONS, Filters
from apps.core.time import DAY, Window
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component, Decision, StatusGroup, Tier, Work
from apps.rollups.models import FoldedHour, TaskCohort, TaskShare
from tests.db.attribution_world import (
    HOUR,
    World,
    build,
    cohort,
    fold,
    gpu_price,
    replica_hour,
    task_share,
    usage,
)

LATER = HOUR + timedelta(hours=1)
NEXT_DAY = HOUR + DAY
NOW = HOUR + timedelta(hours=30)
WINDOW = Window(HOUR, HOUR + timedelta(hours=2))


def money(text: str) -> Decimal:
    return Decimal(text)


@pytest.fixture
def world(db: None) -> World:
    """10:00 as in the services' tests; 11:00 all idle, with a stray replica that worked.

    10:00: 2 GPUs at 3.00, busy 1800 s, 10 % of the tokens unlogged: 0.30 unattributed, 2.70 shared as support
    600 ok and 200 failed retries, search 200; 3.00 idle.
    """
    world = build()
    row = usage(world, world.support, 600)
    retry = usage(world, world.support, 200, work=Work.RETRY, status_group=StatusGroup.FAILED)
    search = usage(world, world.search, 200)
    replica_hour(world, 1800, logged_prompt_tokens=90, counted_prompt_tokens=100, counted_generation_tokens=0)
    task_share(row, 300, Decision.ACCEPTED)
    task_share(row, 200, Decision.UNDECIDED)
    task_share(retry, 200, Decision.ACCEPTED)
    task_share(search, 200, Decision.UNDECIDED)
    cohort(row, Decision.ACCEPTED, 2, "8", retried_tasks=1)
    cohort(row, Decision.UNDECIDED, 1)
    cohort(search, Decision.UNDECIDED, 3)
    fold()
    replica_hour(world, 0, hour=LATER)
    usage(world, world.search, 500, hour=LATER, replica_id=world.stray.id)
    replica_hour(world, 900, hour=LATER, replica_id=world.stray.id)
    fold(LATER)
    services.attribute_dirty(now=NOW)
    return world


def test_the_total_splits_by_component_work_and_ending(world: World) -> None:
    (cost,) = selectors.costs(window=Window.hour(HOUR))
    assert cost.amount == money("6.000000")
    assert cost.components == {
        Component.SHARED: money("2.700000"),
        Component.UNATTRIBUTED: money("0.300000"),
        Component.IDLE: money("3.000000"),
        Component.LOAD: 0,
        Component.DOWN: 0,
    }
    assert cost.work[Work.RETRY] == cost.waste == cost.status[StatusGroup.FAILED] == money("0.540000")
    assert (cost.usage_amount, cost.utilisation) == (money("3.000000"), money("0.5"))
    assert (cost.currency, cost.partial, cost.gpu_seconds, cost.seconds) == ("USD", False, 7200, 3600)


def test_teams_and_the_nobody_of_unattributed(world: World) -> None:
    costs = {c.ids["team"]: c.amount for c in selectors.costs(window=Window.hour(HOUR), group_by=("team",))}
    assert costs == {
        0: money("0.300000"),
        world.support.id: money("2.160000"),
        world.search.id: money("0.540000"),
        world.owner.id: money("3.000000"),
    }


def test_a_replica_without_deployment_makes_the_sum_partial_and_says_why(world: World) -> None:
    (cost,) = selectors.costs(window=WINDOW)
    assert (cost.amount, cost.partial) == (money("12.000000"), True)
    assert cost.reason == "replica stray-0 belongs to no deployment"
    assert (cost.unpriced_seconds, cost.unpriced_gpu_seconds) == (3600, 0)
    by_replica = {c.ids["replica"]: c for c in selectors.costs(window=WINDOW, group_by=("replica",))}
    assert by_replica[world.stray.id].amount == Unknown("replica stray-0 belongs to no deployment")
    assert not by_replica[world.stray.id].partial
    assert unpriced_lines(window=WINDOW) == 2


def test_a_window_without_a_ledger_is_unknown_not_free(world: World) -> None:
    (cost,) = selectors.costs(window=Window.hour(NEXT_DAY))
    assert isinstance(cost.amount, Unknown)
    assert selectors.costs(window=Window.hour(NEXT_DAY), group_by=("team",)) == []


def test_what_is_filtered_away_is_nothing_not_unknown(world: World) -> None:
    (cost,) = selectors.costs(window=WINDOW, filters=Filters(team=frozenset({123456})))
    assert (cost.amount, cost.utilisation) == (0, Unknown("nothing was spent"))


def test_buckets(world: World) -> None:
    replica_hour(world, 0, hour=NEXT_DAY)
    fold(NEXT_DAY)
    services.attribute_dirty(now=NOW)
    whole = Window(HOUR, NEXT_DAY + timedelta(hours=1))
    by_hour = [(c.bucket, c.amount) for c in selectors.costs(window=whole, bucket="hour")]
    assert by_hour == [(HOUR, 6), (LATER, 6), (NEXT_DAY, 6)]
    midnight = HOUR.replace(hour=0)
    by_day = [(c.bucket, c.amount) for c in selectors.costs(window=whole, bucket="day")]
    assert by_day == [(midnight, 12), (midnight + DAY, 6)]


@pytest.mark.parametrize("group_by", [dims for n in (1, 2) for dims in combinations(DIMENSIONS, n)])
def test_every_grouping_sums_to_the_total(world: World, group_by: tuple[str, ...]) -> None:
    rows = selectors.costs(window=WINDOW, group_by=group_by, bucket="hour")  # type: ignore[arg-type]
    assert sum(c.amount for c in rows if not isinstance(c.amount, Unknown)) == 12
    assert sum(c.seconds for c in rows) == 3 * 3600


def test_a_filter_leaves_every_other_row_as_it_was(world: World) -> None:
    everything = {c.ids["team"]: c for c in selectors.costs(window=WINDOW, group_by=("team",))}
    for n in range(len(everything) + 1):
        for teams in combinations(everything, n):
            kept = selectors.costs(window=WINDOW, group_by=("team",), filters=Filters(team=frozenset(teams)))
            assert {c.ids["team"]: c for c in kept} == {team: everything[team] for team in teams}


def test_currencies_are_not_added(world: World) -> None:
    Price.objects.filter(kind="gpu_hour").update(effective_until=LATER)
    gpu_price(world, "3.00", currency="EUR", effective_from=LATER)
    services.attribute_all(now=NOW)
    (cost,) = selectors.costs(window=WINDOW)
    assert (cost.amount, cost.currency) == (Unknown("amounts in EUR and USD cannot be added"), "")


def test_cost_per_accepted_task(world: World) -> None:
    # support: 2 accepted: 0.81 first + 0.54 retries + 8 min at 45/h = 6.00; 1 undecided inside 72 h: 0.54, pending
    # search: 3 undecided past 24 h: expired, 0.54
    rows = {r.ids["team"]: r for r in selectors.task_costs(window=Window.hour(HOUR), group_by=("team",), now=NOW)}
    support, search = rows[world.support.id], rows[world.search.id]
    assert (support.compute, support.retries, support.review) == (money("0.81"), money("0.54"), money("6.00"))
    assert (support.total, support.pending_cost) == (money("7.35"), money("0.54"))
    assert (support.accepted, support.pending, support.expired, support.tasks) == (2, 1, 0, 3)
    assert (support.cost_per_accepted, support.acceptance_rate) == (money("3.675"), 1)
    assert (support.retried, support.review_minutes, support.small_sample) == (1, 8, True)
    assert (search.expired, search.pending, search.total) == (3, 0, money("0.54"))
    assert search.cost_per_accepted == Unknown("no accepted tasks")
    (everybody,) = selectors.task_costs(window=Window.hour(HOUR), now=NOW)
    assert everybody.total == money("7.89")
    assert everybody.cost_per_accepted == money("3.945")
    assert (everybody.tasks, everybody.expired, everybody.pending) == (6, 3, 1)


def test_undecided_tasks_expire_when_their_window_is_over(world: World) -> None:
    def pending(hours: int) -> list[int]:
        rows = selectors.task_costs(
            window=Window.hour(HOUR), group_by=("endpoint",), bucket="day", now=HOUR + timedelta(hours=hours)
        )
        assert {r.bucket for r in rows} == {HOUR.replace(hour=0)}
        return [r.pending for r in rows]

    assert pending(24) == [1, 3]
    assert pending(25) == [1, 0]
    assert pending(72) == [1, 0]
    assert pending(73) == [0, 0]


def test_a_filter_on_what_tasks_do_not_have_is_refused(world: World) -> None:
    with pytest.raises(ValueError, match="replica"):
        selectors.task_costs(window=WINDOW, filters=Filters(replica=frozenset({1})), now=NOW)
    with pytest.raises(ValueError, match="key"):
        selectors.task_costs(window=WINDOW, group_by=("key",), now=NOW)


def test_task_filters_keep_other_rows(world: World) -> None:
    every = {r.ids["endpoint"]: r for r in selectors.task_costs(window=WINDOW, group_by=("endpoint",), now=NOW)}
    for endpoint, row in every.items():
        filters = Filters(endpoint=frozenset({endpoint}))
        assert selectors.task_costs(window=WINDOW, group_by=("endpoint",), filters=filters, now=NOW) == [row]
    (nothing,) = selectors.task_costs(window=WINDOW, filters=Filters(team=frozenset()), now=NOW)
    assert (nothing.tasks, nothing.total) == (0, 0)


def test_no_tasks_yet_attributed_are_unknown(world: World) -> None:
    row = usage(world, world.support, 1, hour=NEXT_DAY)
    cohort(row, Decision.ACCEPTED, 4, cohort_hour=NEXT_DAY)
    fold(NEXT_DAY)
    assert selectors.hours_without_ledger(window=Window.hour(NEXT_DAY)) == [NEXT_DAY]
    (tasks,) = selectors.task_costs(window=Window.hour(NEXT_DAY), now=NOW)
    assert isinstance(tasks.cost_per_accepted, Unknown)


def test_tasks_decided_after_their_hour_was_attributed_cost_what_is_not_known_until_it_is_again(world: World) -> None:
    """The outcome of the search tasks arrives and is folded; the ledger still has them as expired, at 0.54."""
    TaskShare.objects.filter(cohort_team_id=world.search.id).update(decision=Decision.ACCEPTED)
    TaskCohort.objects.filter(team_id=world.search.id).update(decision=Decision.ACCEPTED, review_minutes=Decimal(4))
    fold()
    FoldedHour.objects.update(as_of=NOW)

    def read() -> tuple[TaskCostRow, TaskCostRow]:
        (everybody,) = selectors.task_costs(window=Window.hour(HOUR), now=NOW)
        teams = selectors.task_costs(window=Window.hour(HOUR), group_by=("team",), now=NOW)
        return everybody, next(row for row in teams if row.ids["team"] == world.search.id)

    everybody, search = read()
    why = Unknown("the hours of these tasks are not attributed yet")
    assert (search.accepted, search.total, search.review, search.cost_per_accepted) == (3, why, why, why)
    assert (everybody.accepted, everybody.total, everybody.partial) == (5, money("7.89"), True)
    assert everybody.reason == "the hours of 3 of 5 decided tasks are not attributed yet"
    services.attribute_dirty(now=NOW)
    everybody, search = read()
    assert (search.total, search.partial) == (money("3.54"), False)
    assert (everybody.total, everybody.partial) == (money("10.89"), False)


def test_an_hour_that_was_folded_a_moment_ago_keeps_the_costs_that_it_has(world: World) -> None:
    fold()
    FoldedHour.objects.update(as_of=NOW - timedelta(seconds=59))
    (row,) = selectors.task_costs(window=Window.hour(HOUR), now=NOW)
    assert (row.total, row.partial) == (money("7.89"), False)
    (row,) = selectors.task_costs(window=Window.hour(HOUR), now=NOW + timedelta(seconds=2))
    assert (row.total, row.partial) == (money("7.89"), True)


@pytest.mark.parametrize("limit", [1, 2, 4, 1000])
def test_ledger_pages_hold_every_line_once_in_order(world: World, limit: int) -> None:
    lines, cursor = [], None
    while True:
        page = selectors.ledger(window=WINDOW, cursor=cursor, limit=limit)
        lines += page.lines
        if (cursor := page.next_cursor) is None:
            break
    places = [line.place for line in lines]
    assert places == sorted(set(places))
    assert len(places) == 5 + 1 + 2
    assert sum(line.line.amount or 0 for line in lines) == 12


def test_every_replica_hour_balances(world: World) -> None:
    Price.objects.filter(kind="gpu_hour").update(effective_until=LATER + timedelta(minutes=20))
    gpu_price(world, "0.3333333333", effective_from=LATER + timedelta(minutes=20))
    services.attribute_all(now=NOW)
    balances = selectors.replica_hour_balance(window=WINDOW)
    assert [(b.hour, b.replica_id, b.balanced) for b in balances] == [
        (HOUR, world.replica.id, True),
        (LATER, world.replica.id, True),
        (LATER, world.stray.id, True),
    ]
    assert balances[0].cost == balances[0].line_amount == 6
    assert balances[2].cost is None


def test_a_line_that_went_missing_is_seen(world: World) -> None:
    LedgerLine.objects.filter(hour=HOUR, component=Component.IDLE).delete()
    assert not selectors.replica_hour_balance(window=WINDOW)[0].balanced


def test_assumed_prices_are_named(world: World) -> None:
    (assumed,) = selectors.assumptions(window=WINDOW)
    assert (assumed.kind, assumed.gpu_type_id, assumed.amount, assumed.source) == (
        "gpu_hour",
        world.gpu.id,
        3,
        "an assumption",
    )
    assert selectors.assumptions(window=Window.hour(NEXT_DAY)) == []


def test_findings_name_what_cannot_be_or_is_not_known(world: World) -> None:
    replica_hour(
        world, 4000, hour=NEXT_DAY, logged_prompt_tokens=9, counted_prompt_tokens=4, counted_generation_tokens=0
    )
    fold(NEXT_DAY)
    services.attribute_dirty(now=NOW)
    found = selectors.findings(window=Window(HOUR, NEXT_DAY + timedelta(hours=1)))
    assert [(f.code, f.replica_id, f.hours, f.quantity) for f in found] == [
        ("negative_idle", world.replica.id, 1, 400),
        ("logged_over_counted", world.replica.id, 1, 5),
        ("nobody_to_charge", world.replica.id, 1, 4000),
        ("unpriced", world.stray.id, 1, 3600),
    ]


def test_estimated_amounts_are_told_apart(world: World) -> None:
    usage(world, world.search, 0, hour=NEXT_DAY, output_tokens=10)
    replica_hour(world, 900, hour=NEXT_DAY, tier=Tier.WEIGHTED_TOKENS)
    fold(NEXT_DAY)
    services.attribute_dirty(now=NOW)
    by_hour = {
        c.bucket: c.estimated
        for c in selectors.costs(window=Window(HOUR, NEXT_DAY + timedelta(hours=1)), bucket="hour")
    }
    assert (by_hour[HOUR], by_hour[NEXT_DAY]) == (0, money("1.5"))
