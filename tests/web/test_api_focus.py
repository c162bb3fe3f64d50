"""The FOCUS export over HTTP: conservation, headers, filters, streaming."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import pytest

from apps.api.domain.focus.columns import COLUMNS
from apps.catalog.models import Price
from apps.core.vocabulary import Component
from tests.web.api_kit import EXPORT, assert_problem, get, key, read
from tests.web.test_api_query import DAY, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = World()
    Price.objects.create(
        id=1, kind="gpu_hour", gpu_type=world.gpu, amount=3, effective_from=DAY, source="stated", assumed=True
    )
    return world


def export(secret: str, **query: str) -> tuple[Any, list[dict[str, str]]]:
    response = get(EXPORT, secret, **query)
    assert response.status_code == 200, response.content
    text = b"".join(response.streaming_content).decode()
    return response, list(csv.DictReader(io.StringIO(text)))


def test_the_rows_add_up_to_the_ledger_and_what_is_missing_is_counted(world: World) -> None:
    for hour in range(40):
        world.line(hour, world.support, "0.050000")
        world.line(hour, world.support, "0.000001", key_id=9)
        world.line(hour, None, "0.010000", component=Component.IDLE, endpoint_id=0)
    world.line(5, world.search, None)
    response, rows = export(key("export"), period="2026-11")
    assert tuple(rows[0]) == COLUMNS
    assert response["Content-Type"].startswith("text/csv")
    assert "focus-1.2_20261101T00_20261201T00.csv" in response["Content-Disposition"]
    assert (response["X-Unpriced-Lines"], response["X-Focus-Version"]) == ("1", "1.2")
    assert len(rows) == 80
    total = sum(Decimal(row["BilledCost"]) for row in rows)
    (costs,) = read("costs", key("read"), from_="2026-11-01", to="2026-12-01")["rows"]
    assert total == Decimal("2.400040") == Decimal(costs["cost"])
    assert {row["SubAccountId"] for row in rows} == {"team/support", ""}
    assert {row["x_PriceAssumed"] for row in rows} == {"true"}
    starts = [row["ChargePeriodStart"] for row in rows]
    assert starts == sorted(starts)


def test_the_window_is_half_open_and_filters_hold(world: World) -> None:
    for hour in range(4):
        world.line(hour, world.support if hour % 2 else world.search, "1.000000")
    secret = key("export")
    hours = {"from_": "2026-11-20T01:00:00Z", "to": "2026-11-20T03:00:00Z"}
    _, rows = export(secret, **hours)
    assert [row["ChargePeriodStart"] for row in rows] == ["2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z"]
    _, rows = export(secret, **hours, team="support")
    assert [row["ChargePeriodStart"] for row in rows] == ["2026-11-20T01:00:00Z"]
    _, rows = export(key("export", teams=[world.search.pk]), **hours)
    assert [row["SubAccountName"] for row in rows] == ["Search"]


def test_nothing_is_a_header_alone(world: World) -> None:
    response, rows = export(key("export"), period="2020-01")
    assert (rows, response["X-Unpriced-Lines"]) == ([], "0")


def test_the_window_must_be_said(world: World) -> None:
    assert assert_problem(get(EXPORT, key("export")), 400)["problems"][0]["code"] == "missing"
    assert_problem(get(EXPORT, key("export"), period="2026-11", from_="2026-11-01"), 400)
    assert_problem(get(EXPORT, key("export"), period="November"), 400)


def test_an_hour_at_a_time_is_read(world: World, django_assert_max_num_queries: Any) -> None:
    for hour in range(3):
        for _ in range(20):
            world.line(hour, world.support, "0.010000")
    with django_assert_max_num_queries(25):
        response = get(EXPORT, key("export"), period="2026-11")
        chunks = list(response.streaming_content)
    assert len(chunks) == 1 + 3


def test_a_name_from_a_record_does_not_become_a_formula(world: World) -> None:
    world.support.name = '=cmd|"/c calc"!A1'
    world.support.save()
    world.line(1, world.support, "1.000000")
    _, rows = export(key("export"), period="2026-11")
    assert rows[0]["SubAccountName"] == '\'=cmd|"/c calc"!A1'
