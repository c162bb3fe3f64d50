"""Who pays for a replica-hour: vectors worked out by hand, and what holds for any hour."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.attribution.domain.allocate import (
    NEGATIVE_IDLE,
    NO_REPLICA,
    NO_TIMES,
    NOBODY_TO_CHARGE,
    allocate_hour,
    allocate_replica_hour,
)
from apps.attribution.domain.findings import findings_of
from apps.attribution.domain.lines import Line
from apps.attribution.domain.residual import residual_of
from apps.core.time import HOUR as HOUR_LONG
from apps.core.time import Window
from apps.core.vocabulary import Component, StatusGroup, Tier, Work
from tests.domain.ledger_facts import (
    GPU,
    HOUR,
    OWNER,
    REPLICA,
    SECOND,
    START,
    book,
    facts,
    holding,
    price,
    replica_hour,
    usage,
)

C = Component
PER_SECOND = "3600"
"""A price at which one second of one GPU costs 1."""


def amounts(lines: list[Line]) -> dict[tuple[Component, int], Decimal]:
    out: defaultdict[tuple[Component, int], Decimal] = defaultdict(Decimal)
    for line in lines:
        assert line.amount is not None
        out[Component(line.component), line.team_id] += line.amount
    return dict(out)


def money(text: str) -> Decimal:
    return Decimal(text)


# --- vectors


def test_busy_time_is_shared_by_the_coverage_vector_and_the_rest_is_idle() -> None:
    # A1 [0,10] A2 [6,8] B [4,12] C [20,21]: 22/3, 14/3 and 1 second of 13 busy ones
    row = replica_hour(busy=13 * SECOND)
    rows = [usage(1, 22), usage(2, 14), usage(3, 3)]
    lines = allocate_replica_hour(row, rows, holding(), book(price(PER_SECOND)))
    assert amounts(lines) == {
        (C.SHARED, 1): money("7.333333"),
        (C.SHARED, 2): money("4.666667"),
        (C.SHARED, 3): money("1.000000"),
        (C.IDLE, OWNER): money("3587.000000"),
    }
    assert [line.seconds for line in lines[:3]] == [money("7.333333333"), money("4.666666667"), money("1.000000000")]
    assert {line.tier for line in lines} == {Tier.SHARED_TIME}


def test_four_gpus_at_three_an_hour_busy_for_three_quarters() -> None:
    lines = allocate_replica_hour(
        replica_hour(busy=2700 * SECOND), [usage(1, 131), usage(2, 169)], holding("4"), book(price("3.00"))
    )
    assert amounts(lines) == {
        (C.SHARED, 1): money("3.93"),
        (C.SHARED, 2): money("5.07"),
        (C.IDLE, OWNER): money("3.00"),
    }
    assert sum(line.gpu_seconds or 0 for line in lines) == 4 * 3600


def test_held_is_load_busy_idle_and_down_each_with_a_line_to_the_owner_but_busy() -> None:
    row = replica_hour(busy=1800 * SECOND, load=60 * SECOND, down=540 * SECOND)
    lines = allocate_replica_hour(row, [usage(1, 5)], holding(), book(price("2.00")))
    assert amounts(lines) == {
        (C.SHARED, 1): money("1.000000"),
        (C.IDLE, OWNER): money("0.666667"),  # 1200 s: .6666666..., the largest remainder
        (C.LOAD, OWNER): money("0.033333"),
        (C.DOWN, OWNER): money("0.300000"),
    }


def test_an_hour_without_usage_does_not_vanish() -> None:
    lines = allocate_replica_hour(replica_hour(), [], holding("9"), book(price("3.00")))
    assert amounts(lines) == {(C.IDLE, OWNER): money("27.000000")}
    assert lines[0].tier == Tier.SHARED_TIME


def test_busy_time_with_nobody_to_charge_falls_to_the_owner_as_idle() -> None:
    row = replica_hour(busy=900 * SECOND)
    refused = usage(1, 0, status_group=StatusGroup.REJECTED)
    lines = allocate_replica_hour(row, [refused], holding(), book(price("4.00")))
    assert amounts(lines) == {(C.IDLE, OWNER): money("4.000000")}
    assert [(line.reason, line.amount) for line in lines] == [
        (NOBODY_TO_CHARGE, money("1.000000")),
        ("", money("3.000000")),
    ]


def test_negative_idle_is_a_negative_line_and_a_finding() -> None:
    row = replica_hour(busy=4000 * SECOND, idle=-400 * SECOND)
    lines = allocate_replica_hour(row, [usage(1, 1)], holding(), book(price("3.60")))
    assert amounts(lines) == {(C.SHARED, 1): money("4.000000"), (C.IDLE, OWNER): money("-0.400000")}
    assert [line.reason for line in lines] == ["", NEGATIVE_IDLE]
    (finding,) = findings_of([row])
    assert (finding.code, finding.quantity, finding.unit) == ("negative_idle", 400, "seconds")


def test_a_replica_that_worked_without_being_held_costs_nothing_in_sum_but_shows_both_lines() -> None:
    row = replica_hour(busy=1000 * SECOND, idle=-1000 * SECOND)
    assert row.held_us == 0
    lines = allocate_replica_hour(row, [usage(1, 1)], holding(), book(price("3.60")))
    assert amounts(lines) == {(C.SHARED, 1): money("1.000000"), (C.IDLE, OWNER): money("-1.000000")}


def test_five_aborted_prompts_that_no_gateway_logged_are_unattributed() -> None:
    # 5 x 602 prompt tokens only the engine counted, beside 9,030 that were logged: a quarter of what it did
    row = replica_hour(
        busy=3600 * SECOND, logged_prompt_tokens=9_030, counted_prompt_tokens=12_040, counted_generation_tokens=0
    )
    residual = residual_of(row)
    assert residual is not None
    assert residual.prompt == 5 * 602 == 3_010
    assert row.logged_prompt_tokens + residual.prompt == row.counted_prompt_tokens
    lines = allocate_replica_hour(row, [usage(1, 1)], holding(), book(price("4.00")))
    assert amounts(lines) == {(C.SHARED, 1): money("3.000000"), (C.UNATTRIBUTED, 0): money("1.000000")}


def test_what_only_the_engine_saw_is_all_unattributed() -> None:
    row = replica_hour(busy=1800 * SECOND, counted_prompt_tokens=100, counted_generation_tokens=50)
    lines = allocate_replica_hour(row, [], holding(), book(price("4.00")))
    assert amounts(lines) == {(C.UNATTRIBUTED, 0): money("2.000000"), (C.IDLE, OWNER): money("2.000000")}


def test_an_engine_without_metrics_has_no_residual() -> None:
    row = replica_hour(busy=3600 * SECOND, logged_prompt_tokens=5, counted_generation_tokens=0)
    assert residual_of(row) is None
    assert amounts(allocate_replica_hour(row, [usage(1, 1)], holding(), book(price("4.00")))) == {
        (C.SHARED, 1): money("4.000000")
    }


def test_a_replica_that_logged_too_much_does_not_hide_another_that_logged_too_little() -> None:
    # Summed first and then clamped, +50,000 and -50,000 would make no residual at all.
    a = replica_hour(
        busy=3600 * SECOND, logged_prompt_tokens=450_000, counted_prompt_tokens=400_000, counted_generation_tokens=0
    )
    b = replace(a, replica_id=2, logged_prompt_tokens=0, counted_prompt_tokens=50_000)
    lines = allocate_hour(
        facts([usage(1, 1), usage(1, 1, replica_id=2)], [b, a]),
        {1: holding(), 2: holding(replica_id=2)},
        book(price("4.00")),
    )
    assert amounts(lines) == {(C.SHARED, 1): money("4.000000"), (C.UNATTRIBUTED, 0): money("4.000000")}
    (finding,) = findings_of([a, b])
    assert (finding.code, finding.replica_id, finding.quantity) == ("logged_over_counted", 1, 50_000)


def test_tokens_of_one_kind_do_not_hide_those_of_the_other() -> None:
    # +100 prompt and -100 generation of 400 counted: a quarter is unlogged, and the surplus is a finding
    row = replica_hour(
        busy=3600 * SECOND, logged_prompt_tokens=100, counted_prompt_tokens=200,
        logged_generation_tokens=300, counted_generation_tokens=200,
    )  # fmt: skip
    residual = residual_of(row)
    assert residual is not None and residual.share == Fraction(1, 4)
    assert [f.quantity for f in findings_of([row])] == [100]


def test_without_request_times_weighted_tokens_share_and_say_that_they_are_estimated() -> None:
    row = replica_hour(busy=3600 * SECOND, tier=Tier.WEIGHTED_TOKENS)
    # 1 x (1000 - 600) + 0 x 600 + 4 x 100 = 800 against 1 x 200
    rows = [
        usage(1, input_tokens=1000, cache_read_tokens=600, output_tokens=100),
        usage(2, input_tokens=200),
    ]
    lines = allocate_replica_hour(row, rows, holding(), book(price("1.00")))
    assert amounts(lines) == {(C.SHARED, 1): money("0.800000"), (C.SHARED, 2): money("0.200000")}
    assert {line.tier for line in lines} == {Tier.WEIGHTED_TOKENS}


def test_input_without_its_cached_part_is_not_clamped_to_nothing() -> None:
    # 20,000 uncached and 80,000 cached reported side by side: the uncached ones still weigh
    row = replica_hour(busy=3600 * SECOND, tier=Tier.WEIGHTED_TOKENS)
    rows = [usage(1, input_tokens=20_000, cache_read_tokens=80_000), usage(2, input_tokens=20_000)]
    lines = allocate_replica_hour(row, rows, holding(), book(price("1.00")))
    assert amounts(lines) == {(C.SHARED, 1): money("0.500000"), (C.SHARED, 2): money("0.500000")}


def test_answers_without_times_on_an_engine_that_nobody_saw_cost_an_unknown_amount_not_nothing() -> None:
    row = replica_hour(tier=Tier.WEIGHTED_TOKENS)
    answered, refused = usage(1, input_tokens=500), usage(2, status_group=StatusGroup.REJECTED)
    lines = allocate_replica_hour(row, [answered, refused], holding(), book(price("2.00")))
    assert [(line.component, line.team_id, line.amount, line.reason) for line in lines] == [
        (C.IDLE, OWNER, money("2.000000"), ""),
        (C.SHARED, 1, None, NO_TIMES),
    ]


def test_a_price_that_changes_at_a_quarter_past_splits_the_hour() -> None:
    change = HOUR + timedelta(minutes=15)
    prices = book(price("2.00", until=change, number=1), price("6.00", since=change, number=2))
    lines = allocate_replica_hour(replica_hour(busy=1800 * SECOND), [usage(1, 1)], holding(), prices)
    assert [(line.component, line.price_id, line.price, line.amount, line.seconds) for line in lines] == [
        (C.SHARED, 1, money("2.00"), money("0.250000"), 450),
        (C.IDLE, 1, money("2.00"), money("0.250000"), 450),
        (C.SHARED, 2, money("6.00"), money("2.250000"), 1350),
        (C.IDLE, 2, money("6.00"), money("2.250000"), 1350),
    ]


def test_a_price_change_weighs_the_part_since_the_replica_was_first_seen() -> None:
    # first seen at 12 past, the price changed at 45 past: 33 minutes at 2, 15 at 6
    change = HOUR + timedelta(minutes=45)
    prices = book(price("2.00", until=change, number=1), price("6.00", since=change, number=2))
    seen = replica_hour(idle=48 * 60 * SECOND, evidence=HOUR + timedelta(minutes=12))
    lines = allocate_replica_hour(seen, [], holding(), prices)
    assert [line.amount for line in lines] == [Decimal("1.100000"), Decimal("1.500000")]
    # seen before: the first sign in this hour does not matter
    whole = replica_hour(idle=3600 * SECOND, evidence=HOUR + timedelta(minutes=12))
    lines = allocate_replica_hour(whole, [], holding(), prices)
    assert [line.amount for line in lines] == [Decimal("1.500000"), Decimal("1.500000")]


def test_a_price_change_weighs_only_the_part_in_which_gpus_were_held() -> None:
    # held for the last 40 minutes, the price changed 10 minutes into them: a quarter at 2, the rest at 6
    change = HOUR + timedelta(minutes=30)
    prices = book(price("2.00", until=change, number=1), price("6.00", since=change, number=2))
    lines = allocate_replica_hour(
        replica_hour(idle=2400 * SECOND), [], holding(held_from=HOUR + timedelta(minutes=20)), prices
    )
    assert [(line.seconds, line.amount) for line in lines] == [(600, money("0.333333")), (1800, money("3.000000"))]


def test_the_part_of_an_hour_before_the_first_price_is_unknown_not_free() -> None:
    lines = allocate_replica_hour(
        replica_hour(), [], holding(), book(price("6.00", since=HOUR + timedelta(minutes=15)))
    )
    assert [(line.seconds, line.amount) for line in lines] == [(900, None), (2700, money("4.500000"))]
    assert "no price for GPU type H200 before" in lines[0].reason


@pytest.mark.parametrize(
    ("held", "reason", "gpu_seconds"),
    [
        (holding("2"), "no price for GPU type H200", Decimal(7200)),
        (holding("2", gpu_type_id=0), "the replica's deployment names no GPU type", Decimal(7200)),
        (holding(None, deployment_id=0, gpu_type_id=0), "replica small-0 belongs to no deployment", None),
        (None, "replica 1 is not in the catalog", None),
    ],
)
def test_without_a_price_the_quantity_stands_and_the_money_is_unknown(
    held: Any, reason: str, gpu_seconds: Decimal | None
) -> None:
    lines = allocate_replica_hour(replica_hour(busy=900 * SECOND), [usage(1, 1)], held, book())
    assert [(line.amount, line.reason, line.currency) for line in lines] == [(None, reason, "")] * 2
    assert sum(line.seconds for line in lines) == 3600
    assert [line.gpu_seconds is None for line in lines] == [gpu_seconds is None] * 2
    assert gpu_seconds is None or sum(line.gpu_seconds or 0 for line in lines) == gpu_seconds


@pytest.mark.parametrize("prices", [book(), book(price("3.00"))])
def test_no_gpu_no_cost(prices: Any) -> None:
    lines = allocate_replica_hour(replica_hour(busy=900 * SECOND), [usage(1, 1)], holding("0"), prices)
    assert amounts(lines) == {(C.SHARED, 1): 0, (C.IDLE, OWNER): 0}
    assert {line.gpu_seconds for line in lines} == {Decimal(0)}


def test_four_quarters_of_a_gpu_are_one_gpu() -> None:
    rows = [replica_hour(replica_id=n) for n in range(4)]
    lines = allocate_hour(facts([], rows), {n: holding("0.25", replica_id=n) for n in range(4)}, book(price("3.00")))
    assert amounts(lines) == {(C.IDLE, OWNER): money("3.000000")}
    assert sum(line.gpu_seconds or 0 for line in lines) == 3600


def test_work_on_no_known_replica_is_unknown_and_refused_requests_cost_nothing() -> None:
    rows = [
        usage(1, replica_id=0, output_tokens=5),
        usage(2, replica_id=8, output_tokens=5),
        usage(3, replica_id=0, status_group=StatusGroup.REJECTED),
        usage(4, replica_id=0, status_group=StatusGroup.FAILED),
    ]
    lines = allocate_hour(facts(rows, []), {}, book(price("3.00")))
    assert [(line.team_id, line.amount, line.reason) for line in lines] == [
        (1, None, NO_REPLICA),
        (2, None, "replica 8 is not known to have held GPUs in this hour"),
    ]


def test_lines_say_why_an_attempt_was_made_and_how_it_ended() -> None:
    rows = [
        usage(1, 60),
        usage(1, 25, work=Work.RETRY, status_group=StatusGroup.FAILED),
        usage(1, 15, work=Work.ESCALATION, status_group=StatusGroup.ABORTED),
    ]
    lines = allocate_replica_hour(replica_hour(busy=3600 * SECOND), rows, holding(), book(price("1.00")))
    assert [(line.work, line.status_group, line.amount) for line in lines] == [
        (Work.FIRST, StatusGroup.OK, money("0.600000")),
        (Work.RETRY, StatusGroup.FAILED, money("0.250000")),
        (Work.ESCALATION, StatusGroup.ABORTED, money("0.150000")),
    ]


def test_facts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match=r"held is not load \+ busy \+ idle \+ down"):
        allocate_replica_hour(replace(replica_hour(), held_us=5), [], holding(), book())


# --- what holds for any hour

micros = st.integers(0, 3600 * SECOND)
prices = st.decimals("0", "100", places=10)
gpu_counts = st.sampled_from(["0.125", "0.3333", "1", "2", "8"])
tokens = st.integers(0, 10**6)


@st.composite
def usage_rows(draw: st.DrawFn, replica_id: int) -> list[Any]:
    """Distinct rows of one replica."""
    keys = draw(st.sets(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2)), max_size=8))
    return [
        usage(
            team, draw(st.integers(0, 10**17)), work=work, status_group=group, replica_id=replica_id,
            input_tokens=draw(tokens), output_tokens=draw(tokens),
        )
        for team, work, group in sorted(keys)
    ]  # fmt: skip


@st.composite
def replica_hours(draw: st.DrawFn, replica_id: int) -> Any:
    busy, load, down = draw(micros), draw(micros), draw(micros)
    counted = st.one_of(st.none(), tokens)
    return replica_hour(
        busy=busy, load=load, down=down, idle=draw(st.integers(-SECOND, 3600 * SECOND)), replica_id=replica_id,
        tier=draw(st.sampled_from([0, 1, 2])), logged_prompt_tokens=draw(tokens), logged_generation_tokens=draw(tokens),
        counted_prompt_tokens=draw(counted), counted_generation_tokens=draw(counted),
    )  # fmt: skip


@st.composite
def hours(draw: st.DrawFn) -> Any:
    """(facts, holdings, book) of an hour with up to three replicas and up to two price changes inside it."""
    ids = range(1, draw(st.integers(1, 3)) + 1)
    changes = sorted(draw(st.sets(st.integers(1, 3599), max_size=2)))
    starts = [START, *(HOUR + timedelta(seconds=s) for s in changes)]
    entries = [
        price(str(draw(prices)), since=since, until=until, number=n)
        for n, (since, until) in enumerate(zip(starts, [*starts[1:], None], strict=True), start=1)
    ]
    rows = [row for n in ids for row in draw(usage_rows(n))]
    held = {n: holding(draw(gpu_counts), replica_id=n) for n in ids}
    return facts(rows, [draw(replica_hours(n)) for n in ids]), held, book(*entries)


@settings(max_examples=120, deadline=None)
@given(hours())
def test_the_lines_of_a_replica_hour_add_up_to_it_exactly(hour: Any) -> None:
    facts_, held, prices_ = hour
    lines = allocate_hour(*hour)
    for row in facts_.replicas:
        mine = [line for line in lines if line.replica_id == row.replica_id and line.reason != NO_TIMES]
        gpus = Fraction(held[row.replica_id].gpus)
        assert sum(line.seconds for line in mine) * SECOND == row.held_us
        by_price = {p: list(g) for p, g in groupby(mine, key=lambda line: line.price_id)}
        spans = prices_.gpu_hour_spans(GPU, Window.hour(HOUR))
        exact = Fraction(0)
        for span, at in spans:
            part = by_price.get(at.id, [])
            seconds = sum((Fraction(line.seconds) for line in part), Fraction(0))
            # each slice is rounded once, half to even, as a whole
            cost = gpus * Fraction(at.amount) * seconds / 3600
            assert sum(Fraction(line.amount) for line in part) * 10**6 == round(cost * 10**6)
            assert sum(Fraction(line.gpu_seconds) for line in part) * 10**9 == round(gpus * seconds * 10**9)
            exact += (
                gpus * Fraction(at.amount) * Fraction(row.held_us, SECOND * 3600) * Fraction(span.length / HOUR_LONG)
            )
        total = sum(Fraction(line.amount) for line in mine)
        assert abs(total - exact) < Fraction(len(spans) * 2, 10**6) + abs(exact) / 10**9


@settings(max_examples=60, deadline=None)
@given(hours(), st.randoms())
def test_the_order_of_facts_changes_nothing(hour: Any, random: Any) -> None:
    facts_, held, prices_ = hour
    lines = allocate_hour(facts_, held, prices_)
    rows, replicas = [*facts_.usage], [*facts_.replicas]
    random.shuffle(rows)
    random.shuffle(replicas)
    assert allocate_hour(replace(facts_, usage=rows, replicas=replicas), held, prices_) == lines


@settings(max_examples=60, deadline=None)
@given(hours())
def test_one_replica_does_not_change_the_lines_of_another(hour: Any) -> None:
    facts_, held, prices_ = hour
    lines = allocate_hour(facts_, held, prices_)
    alone = replace(
        facts_,
        usage=[row for row in facts_.usage if row.replica_id == REPLICA],
        replicas=[row for row in facts_.replicas if row.replica_id == REPLICA],
    )
    assert allocate_hour(alone, held, prices_) == [line for line in lines if line.replica_id == REPLICA]


@settings(max_examples=60, deadline=None)
@given(usage_rows(REPLICA), micros)
def test_who_used_more_never_pays_less(rows: Any, busy: int) -> None:
    lines = allocate_replica_hour(replica_hour(busy=busy), rows, holding(), book(price("2.50")))
    units = {(row.team_id, row.work, row.status_group): row.share_units for row in rows}
    shared = [line for line in lines if line.component == C.SHARED and line.tier == Tier.SHARED_TIME]
    paid = sorted((units[line.team_id, line.work, line.status_group], line.amount, line.seconds) for line in shared)
    for (less, amount, seconds), (more, next_amount, next_seconds) in zip(paid, paid[1:], strict=False):
        assert less == more or (amount <= next_amount and seconds <= next_seconds)


# --- an independent account of tier A


def coverage_shapley(intervals: list[tuple[int, int, int]]) -> tuple[Fraction, dict[int, Fraction]]:
    """(busy, {team: share}) of (team, start, end): each instant goes equally to the requests running in it."""
    points = sorted({Fraction(t) for _, start, end in intervals for t in (start, end)})
    busy, share = Fraction(0), defaultdict(Fraction)
    for low, high in zip(points, points[1:], strict=False):
        running = [team for team, start, end in intervals if start <= low and end >= high]
        if running:
            busy += high - low
            for team in running:
                share[team] += (high - low) / len(running)
    return busy, share


intervals = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 3000), st.integers(1, 600)).map(lambda x: (x[0], x[1], x[1] + x[2])),
    min_size=1,
    max_size=9,
)


@settings(max_examples=80, deadline=None)
@given(intervals)
def test_each_team_pays_its_shapley_value_of_the_busy_time(requests: list[tuple[int, int, int]]) -> None:
    busy, share = coverage_shapley(requests)
    common = math.lcm(*(part.denominator for part in share.values()))
    rows = [usage(team, int(part * common)) for team, part in share.items()]
    lines = allocate_replica_hour(replica_hour(busy=int(busy) * SECOND), rows, holding(), book(price(PER_SECOND)))
    paid = {line.team_id: Fraction(line.amount or 0) for line in lines if line.component == C.SHARED}
    assert sum(paid.values()) == busy
    for team, part in share.items():
        assert abs(paid.get(team, Fraction(0)) - part) < Fraction(1, 10**6)
