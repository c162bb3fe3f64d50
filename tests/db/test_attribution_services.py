"""Hours of the ledger are replaced when they are behind, and only then; the same facts give the same rows."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from apps.attribution import services
from apps.attribution.models import AttributedHour, LedgerLine, TaskCost
from apps.catalog.models import Price
from apps.core.vocabulary import Component, Decision
from apps.rollups.models import ReplicaHour, TaskCohort, TaskShare, UsageHour
from tests.db.attribution_world import (
    HOUR,
    World,
    build,
    cohort,
    fold,
    gpu_price,
    price_change,
    replica_hour,
    task_share,
    usage,
)

NOW = HOUR + timedelta(hours=2)
LATER = HOUR + timedelta(hours=1)


@pytest.fixture
def world(db: None) -> World:
    world = build()
    row = usage(world, world.support, 600)
    usage(world, world.search, 400)
    replica_hour(world, 1800)
    task_share(row, 300, Decision.ACCEPTED)
    cohort(row, Decision.ACCEPTED, 2, "8")
    fold()
    return world


def rows() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    def without(row: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in row.items() if name not in ("id", "run_id")}

    lines = LedgerLine.objects.order_by("hour", "line").values()
    costs = TaskCost.objects.order_by("hour", "cohort_hour", "kind", "decision").values()
    return [without(row) for row in lines], [without(row) for row in costs]


def test_an_hour_becomes_lines_and_task_costs(world: World) -> None:
    done = services.attribute_hour(hour=HOUR + timedelta(minutes=7), now=NOW)
    assert done is not None and (done.hour, done.lines, done.task_costs) == (HOUR, 3, 2)
    # 2 GPUs at 3.00, half the hour busy: 3.00 shared 600:400, 3.00 idle
    assert list(LedgerLine.objects.order_by("line").values_list("line", "component", "team_id", "amount")) == [
        (0, Component.SHARED, world.support.id, Decimal("1.800000")),
        (1, Component.SHARED, world.search.id, Decimal("1.200000")),
        (2, Component.IDLE, world.owner.id, Decimal("3.000000")),
    ]
    # half of support's units are of tasks; 8 minutes at 45 an hour
    assert list(TaskCost.objects.order_by("kind").values_list("kind", "amount", "decision")) == [
        ("first", Decimal("0.900000"), Decision.ACCEPTED),
        ("review", Decimal("6.000000"), Decision.ACCEPTED),
    ]


def test_again_the_same_rows_but_for_the_run(world: World) -> None:
    first = services.attribute_hour(hour=HOUR, now=NOW)
    before = rows()
    again = services.attribute_hour(hour=HOUR, now=NOW + timedelta(hours=5))
    assert rows() == before
    assert first and again and first.run_id != again.run_id
    assert set(LedgerLine.objects.values_list("run_id", flat=True)) == {again.run_id}


def test_an_hour_that_was_never_folded_is_left_alone(world: World) -> None:
    assert services.attribute_hour(hour=LATER, now=NOW) is None
    assert not AttributedHour.objects.exists()


def test_only_hours_behind_are_attributed(world: World) -> None:
    replica_hour(world, 0, hour=LATER)
    fold(LATER)
    seen: list[tuple[int, int]] = []
    assert services.attribute_dirty(now=NOW, progress=lambda *x: seen.append(x)) == [LATER, HOUR]
    assert seen == [(1, 2), (2, 2)]
    assert services.attribute_dirty(now=NOW) == []
    fold(HOUR)
    assert services.attribute_dirty(now=NOW) == [HOUR]


def test_a_limit_takes_the_newest_and_the_next_run_goes_on(world: World) -> None:
    replica_hour(world, 0, hour=LATER)
    fold(LATER)
    assert services.attribute_dirty(now=NOW, limit=1) == [LATER]
    assert services.attribute_dirty(now=NOW, limit=1) == [HOUR]


def test_a_price_change_touches_the_hours_that_it_affects(world: World) -> None:
    replica_hour(world, 0, hour=LATER)
    fold(LATER)
    services.attribute_dirty(now=NOW)
    Price.objects.filter(kind="gpu_hour").update(effective_until=LATER)
    gpu_price(world, "5.00", effective_from=LATER)
    change = price_change(LATER)
    assert services.attribute_dirty(now=NOW) == [LATER]
    # the hour before keeps its price, and is not compared with this change again
    assert set(LedgerLine.objects.filter(hour=HOUR).values_list("price", flat=True)) == {Decimal("3.00")}
    assert set(AttributedHour.objects.values_list("catalog_change", flat=True)) == {change.id}
    price_change(HOUR + timedelta(minutes=59), LATER)
    assert services.attribute_dirty(now=NOW) == [HOUR]
    price_change(None)
    assert services.attribute_dirty(now=NOW) == [LATER, HOUR]


def test_an_hour_that_another_run_holds_is_left_to_it(world: World) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s, %s)", services._lock_of(HOUR))
        assert services.attribute_dirty(now=NOW) == []
        assert not LedgerLine.objects.exists()
    finally:
        other.close()
    assert services.attribute_dirty(now=NOW) == [HOUR]


def test_facts_that_vanish_leave_no_stale_line(world: World) -> None:
    services.attribute_hour(hour=HOUR, now=NOW)
    for table in (UsageHour, ReplicaHour, TaskShare, TaskCohort):
        table.objects.all().delete()
    fold()
    assert services.attribute_dirty(now=NOW) == [HOUR]
    assert rows() == ([], [])


def test_a_very_long_reason_still_fits(world: World) -> None:
    world.gpu.name = "G" * 200
    world.gpu.save()
    Price.objects.all().delete()
    services.attribute_hour(hour=HOUR, now=NOW)
    assert LedgerLine.objects.filter(amount=None, reason__contains="G" * 200).count() == 3


def test_the_command_brings_the_ledger_up_to_date(world: World) -> None:
    def said(*args: str) -> str:
        out = StringIO()
        call_command("attribute", *args, stdout=out)
        return out.getvalue()

    assert "1 hours attributed" in said()
    assert said() == "the ledger is up to date\n"
    assert "1 hours attributed" in said("--all")
