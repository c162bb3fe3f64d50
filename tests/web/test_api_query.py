"""usage, costs, tasks and ledger over HTTP: rows, pages that tie, filters, limits, unknowns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from apps.attribution.models import LedgerLine, TaskCost
from apps.catalog.models import Endpoint, GpuType, InferenceModel, Replica, Team
from apps.core.histogram import Histogram
from apps.core.vocabulary import Component, Decision, Status
from apps.rollups.models import FoldedHour, TaskCohort, UsageHour
from tests.web.api_kit import assert_problem, get, key, read

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 11, 20, tzinfo=UTC)
WINDOW = {"from_": "2026-11-20", "to": "2026-11-22"}


class World:
    """Two teams on one replica over two days."""

    def __init__(self) -> None:
        self.support = Team.objects.create(slug="support", name="Support")
        self.search = Team.objects.create(slug="search", name="Search")
        self.triage = Endpoint.objects.create(slug="triage", name="Ticket triage", team=self.support)
        self.model = InferenceModel.objects.create(slug="granite", name="Granite")
        self.replica = Replica.objects.create(slug="granite-0", name="Granite 0")
        self.gpu = GpuType.objects.create(slug="h100", name="H100")
        self._line = 0

    def usage(self, hours: int, team: Team, attempts: int, *, ttft: list[float] | None = None, **more: int) -> None:
        empty = Histogram().pack()
        columns = (
            "key_id", "work", "status_group", "traffic", "calls", "failed_calls", *Status.words(), "streamed",
            "without_tokens", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens",
            "reasoning_tokens", "share_units",
        )  # fmt: skip
        numbers = dict.fromkeys(columns, 0)
        UsageHour.objects.create(
            **numbers | {"attempts": attempts, "ok": attempts, "calls": attempts} | more,
            hour=DAY + timedelta(hours=hours), team_id=team.pk, endpoint_id=self.triage.pk, model_id=self.model.pk,
            replica_id=self.replica.pk, ttft=Histogram.of(ttft or []).pack(), itl=empty, e2e=empty, queue=empty,
        )  # fmt: skip

    def line(self, hours: int, team: Team | None, amount: str | None, **more: Any) -> None:
        self._line += 1
        fields: dict[str, Any] = {
            "component": Component.SHARED, "endpoint_id": self.triage.pk, "model_id": self.model.pk, "key_id": 0,
            "work": 0, "status_group": 0, "traffic": 0, "tier": 0, "reason": "" if amount else "no price for H100",
        }  # fmt: skip
        LedgerLine.objects.create(
            **fields | more,
            hour=DAY + timedelta(hours=hours), line=self._line, run_id=uuid4(), replica_id=self.replica.pk,
            deployment_id=0, gpu_type_id=self.gpu.pk, team_id=team.pk if team else 0, seconds=Decimal(60),
            gpu_seconds=Decimal(60), amount=None if amount is None else Decimal(amount),
            currency="USD" if amount else "", price_id=1 if amount else None, price=Decimal(3) if amount else None,
        )  # fmt: skip


@pytest.fixture
def world() -> World:
    return World()


def pages(room: str, secret: str, **query: str) -> Iterator[dict[str, Any]]:
    body = read(room, secret, **query)
    yield body
    while body["next_cursor"]:
        body = read(room, secret, **query, cursor=body["next_cursor"])
        yield body


def test_usage_sums_and_percentiles(world: World) -> None:
    world.usage(1, world.support, 3, ttft=[0.1, 0.2, 0.4], streamed=3, input_tokens=30, output_tokens=6)
    world.usage(30, world.support, 2, ttft=[0.8], ok=1, aborted=1, streamed=1, input_tokens=10, calls=1)
    (row,) = read("usage", key("read"), **WINDOW, group_by="team")["rows"]
    assert row["team"] == {"id": world.support.pk, "slug": "support", "name": "Support", "claimed": True}
    assert row["bucket"] is None
    assert (row["attempts"], row["client_requests"], row["input_tokens"], row["output_tokens"]) == (5, 4, 40, 6)
    assert row["attempts_by_status"]["ok"] == 4
    assert row["attempts_by_status"]["aborted"] == 1
    # Nearest rank over 0.1, 0.2, 0.4, 0.8: the second, and the fourth.
    assert row["ttft_seconds"]["count"] == 4
    assert row["ttft_seconds"]["p50"] == pytest.approx(0.2, rel=0.005)
    assert row["ttft_seconds"]["p95"] == pytest.approx(0.8, rel=0.005)
    assert row["itl_seconds"]["p50"] is None
    assert "more than one output token" in row["itl_seconds"]["reason"]


def test_usage_by_day_in_pages_ties_with_the_total(world: World) -> None:
    for hour in range(48):
        world.usage(hour, world.support if hour % 3 else world.search, hour + 1)
    secret = key("read")
    (total,) = read("usage", secret, **WINDOW)["rows"]
    assert total["attempts"] == 48 * 49 // 2
    for bucket, rows in (("hour", 48), ("day", 4)):
        seen = [
            r for p in pages("usage", secret, **WINDOW, bucket=bucket, group_by="team", limit="3") for r in p["rows"]
        ]
        assert len(seen) == rows
        places = [(row["bucket"], row["team"]["id"]) for row in seen]
        assert places == sorted(set(places))
        assert sum(row["attempts"] for row in seen) == total["attempts"]


def test_costs_by_team_and_component_with_unknowns(world: World) -> None:
    world.line(1, world.support, "1.000000")
    world.line(1, world.support, "0.250000", work=1)
    world.line(1, world.support, "0.750000", component=Component.IDLE, endpoint_id=0)
    world.line(2, world.search, None)
    body = read("costs", key("read"), **WINDOW, group_by="team")
    assert body["basis"] == "allocation"
    support, search = body["rows"]
    assert (support["cost"], support["usage_cost"], support["utilisation"]) == ("2.000000", "1.250000", "0.625000")
    assert support["cost_by_component"]["idle"] == "0.750000"
    assert support["shared_cost_by_work"] == {
        "first": "1.000000", "retry": "0.250000", "fallback": "0", "escalation": "0",
    }  # fmt: skip
    assert (support["waste_cost"], support["currency"], support["partial"]) == ("0.250000", "USD", False)
    assert (search["cost"], search["cost_reason"], search["currency"]) == (None, "no price for H100", None)
    assert search["unpriced_gpu_seconds"] == "60.000000000"


def test_nothing_attributed_is_unknown_and_not_zero(world: World) -> None:
    (row,) = read("costs", key("read"), **WINDOW)["rows"]
    assert row["cost"] is None
    assert row["cost_reason"]


def test_ledger_pages_tie_with_costs(world: World) -> None:
    amounts = [Decimal(n) / 1_000_000 for n in range(1, 30)]
    for n, amount in enumerate(amounts):
        world.line(n % 7, world.support if n % 2 else None, f"{amount:f}", component=Component.IDLE if n % 2 else 0)
    world.line(3, world.support, None)
    secret = key("read")
    seen = [row for page in pages("ledger", secret, **WINDOW, limit="4") for row in page["rows"]]
    assert len(seen) == 30
    assert [(row["hour"], row["line"]) for row in seen] == sorted({(row["hour"], row["line"]) for row in seen})
    (total,) = read("costs", secret, **WINDOW)["rows"]
    assert sum(Decimal(row["cost"]) for row in seen if row["cost"]) == sum(amounts) == Decimal(total["cost"])
    (unpriced,) = [row for row in seen if row["cost"] is None]
    assert unpriced["reason"] == "no price for H100"
    assert seen[0]["replica"]["slug"] == "granite-0"
    assert seen[0]["gpu_type"]["slug"] == "h100"
    assert {row["team"]["slug"] for row in seen} == {"support", "none-given"}


def test_filters_by_slug_keep_the_rest_as_it_was(world: World) -> None:
    world.line(1, world.support, "1.000000")
    world.line(1, world.search, "2.000000")
    world.line(1, None, "4.000000", component=Component.IDLE, endpoint_id=0)
    secret = key("read")
    everything = read("costs", secret, **WINDOW, group_by="team")["rows"]
    for slugs in ("support", "search", "support,search", "none-given"):
        found = read("costs", secret, **WINDOW, group_by="team", team=slugs)
        assert found["rows"] == [row for row in everything if row["team"]["slug"] in slugs.split(",")]
        assert found["filters"] == {"team": slugs.split(",")}
    (row,) = read("costs", secret, **WINDOW, endpoint="triage")["rows"]
    assert row["cost"] == "3.000000"


def test_a_limited_key_sees_its_teams_whatever_it_asks(world: World) -> None:
    world.line(1, world.support, "1.000000")
    world.line(1, world.search, "2.000000")
    world.line(1, None, "4.000000", component=Component.IDLE)
    world.usage(1, world.support, 1)
    world.usage(1, world.search, 2)
    limited = key("read", teams=[world.support.pk])
    for query in ({}, {"group_by": "team"}, {"endpoint": "triage"}, {"model": "granite", "group_by": "replica"}):
        assert [row["cost"] for row in read("costs", limited, **WINDOW, **query)["rows"]] == ["1.000000"]
        assert [row["attempts"] for row in read("usage", limited, **WINDOW, **query)["rows"]] == [1]
    assert [row["cost"] for row in read("ledger", limited, **WINDOW)["rows"]] == ["1.000000"]
    for room in ("usage", "costs", "tasks", "ledger"):
        assert_problem(get(f"/api/v1/{room}", limited, **WINDOW, team="search"), 400)
        assert_problem(get(f"/api/v1/{room}", limited, **WINDOW, team="none-given"), 400)


def test_an_unknown_slug_is_named_with_the_nearest(world: World) -> None:
    body = assert_problem(get("/api/v1/usage", key("read"), team="suport", model="nothing-like-it"), 400)
    assert {p["field"]: p["code"] for p in body["problems"]} == {"team": "unknown_value", "model": "unknown_value"}
    assert "did you mean support?" in body["problems"][0]["message"]


def test_tasks_bridge(world: World) -> None:
    cohort = {
        "cohort_hour": DAY + timedelta(hours=1), "team_id": world.support.pk, "endpoint_id": world.triage.pk,
        "model_id": world.model.pk,
    }  # fmt: skip
    for decision, tasks, minutes in ((Decision.ACCEPTED, 4, "10"), (Decision.REJECTED, 1, "2")):
        TaskCohort.objects.create(
            **cohort, decision=decision, tasks=tasks, retried_tasks=1, escalated_tasks=0, review_minutes=minutes
        )
        for kind, amount in (("first", "0.300000"), ("retry", "0.100000"), ("review", "1.000000")):
            TaskCost.objects.create(
                **cohort, hour=cohort["cohort_hour"], run_id=uuid4(), decision=decision, kind=kind,
                amount=Decimal(amount), currency="USD", price_id=1,
            )  # fmt: skip
    body = read("tasks", key("read"), **WINDOW, group_by="endpoint")
    assert body["basis"] == "usage"
    (row,) = body["rows"]
    assert row["endpoint"]["slug"] == "triage"
    assert (row["tasks"], row["accepted_tasks"], row["rejected_tasks"], row["retried_tasks"]) == (5, 4, 1, 2)
    assert (row["compute_cost"], row["retries_cost"], row["review_cost"]) == ("0.600000", "0.200000", "2.000000")
    # 0.6 + 0.2 + 2.0 over four accepted tasks.
    assert (row["total_cost"], row["cost_per_accepted_task"]) == ("2.800000", "0.700000000000")
    assert (row["acceptance_rate"], row["small_sample"]) == ("0.800000", True)


def test_tasks_that_are_not_attributed_yet_cost_what_is_not_known(world: World) -> None:
    hour = DAY + timedelta(hours=1)
    TaskCohort.objects.create(
        cohort_hour=hour, team_id=world.support.pk, endpoint_id=world.triage.pk, model_id=world.model.pk,
        decision=Decision.ACCEPTED, tasks=4, retried_tasks=0, escalated_tasks=0, review_minutes="10",
    )  # fmt: skip
    FoldedHour.objects.update_or_create(
        hour=hour, defaults={"arrival_version": 1, "catalog_change": 0, "as_of": hour, "run_id": uuid4()}
    )
    (row,) = read("tasks", key("read"), **WINDOW, group_by="endpoint")["rows"]
    why = "the hours of these tasks are not attributed yet"
    for name in ("compute_cost", "review_cost", "total_cost", "cost_per_accepted_task"):
        assert (row[name], row[f"{name}_reason"]) == (None, why), name
    assert (row["partial"], row["accepted_tasks"]) == (True, 4)


def test_no_accepted_task_is_unknown_with_the_reason(world: World) -> None:
    (row,) = read("tasks", key("read"), **WINDOW)["rows"]
    assert row["cost_per_accepted_task"] is None
    assert row["cost_per_accepted_task_reason"] == "no accepted tasks"


def test_tasks_have_no_replica(world: World) -> None:
    body = assert_problem(get("/api/v1/tasks", key("read"), group_by="replica"), 400)
    assert "team, endpoint, model" in body["detail"]


def test_a_tampered_cursor_is_refused_or_harmless(world: World) -> None:
    for hour in range(4):
        world.usage(hour, world.support, 1)
        world.line(hour, world.support, "1.000000")
    secret = key("read")
    for room, query in (("usage", {"bucket": "hour"}), ("ledger", {})):
        cursor = read(room, secret, **WINDOW, **query, limit="1")["next_cursor"]
        for broken in (cursor[:-2], cursor[1:], cursor + "AAAA", cursor[::-1], "", "é"):
            assert get(f"/api/v1/{room}", secret, **WINDOW, **query, limit="1", cursor=broken).status_code in (200, 400)
        other = get(f"/api/v1/{room}", secret, **WINDOW, **query, team="support", cursor=cursor)
        assert "another question" in assert_problem(other, 400)["detail"]


def test_the_catalog_takes_no_parameter_and_says_so() -> None:
    body = assert_problem(get("/api/v1/catalog", key("read"), kind="team"), 400)
    assert body["problems"][0]["message"] == "'kind' is not a parameter here: this address takes none"
