"""Folding: order and batches of arrival change nothing, late data reach every hour they touch, hours without data."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Model

from apps.catalog import selectors as catalog
from apps.catalog import services as catalog_services
from apps.core.time import HOUR, Window
from apps.core.vocabulary import Decision, Tier, Work
from apps.ingest import services as ingest
from apps.rollups import selectors, services
from apps.rollups.domain.sharing import UNITS_PER_US
from apps.rollups.models import (
    CallLink,
    FoldedHour,
    ReplicaHour,
    TaskCohort,
    TaskHour,
    TaskPieces,
    TaskShare,
    UsageHour,
)

pytestmark = pytest.mark.django_db

TEN = datetime(2026, 5, 4, 10, tzinfo=UTC)
NOW = TEN + timedelta(hours=4)
MINUTE = timedelta(minutes=1)
DAY = Window(TEN, TEN + timedelta(hours=3))
TABLES: list[type[Model]] = [UsageHour, ReplicaHour, TaskHour, TaskPieces, TaskCohort, TaskShare, CallLink]


def record(start: float, took: float, **more: Any) -> dict[str, Any]:
    """An attempt that starts `start` minutes after ten and takes `took` minutes."""
    started = TEN + timedelta(minutes=start)
    fields: dict[str, Any] = {
        "started_at": started.isoformat(),
        "ended_at": (started + timedelta(minutes=took)).isoformat(),
        "team": "search",
        "endpoint": "answers",
        "key": "web",
        "model": "small",
        "replica": "one",
        "status": "ok",
        "stream": False,
        "input_tokens": 100,
        "output_tokens": 10,
    } | more
    return {"id": json.dumps(fields, sort_keys=True)} | fields


def send(*records: dict[str, Any], now: datetime = NOW) -> None:
    body = "\n".join(map(json.dumps, records)).encode()
    answer = ingest.ingest_requests(source=ingest.SourceRef("test", "native"), stream=body, now=now)
    assert answer.rejected == 0, answer.results


def decide(*outcomes: tuple[str, bool, float]) -> None:
    """(task, accepted, minutes after ten), with a minute of review each."""
    lines = [
        {"task_id": task, "accepted": accepted, "review_minutes": 1, "decided_at": (TEN + at * MINUTE).isoformat()}
        for task, accepted, at in outcomes
    ]
    body = "\n".join(map(json.dumps, lines)).encode()
    answer = ingest.ingest_outcomes(source=ingest.SourceRef("test", "outcomes"), body=body, now=NOW)
    assert answer.rejected == 0, answer.results


def fold(now: datetime = NOW) -> list[datetime]:
    return services.fold_dirty(now=now)


def facts() -> dict[str, list[str]]:
    """Every stored row, without surrogate keys, in an order of its own."""
    return {
        table.__name__: sorted(
            repr(row)
            for row in table._default_manager.values_list(
                *[field.name for field in table._meta.concrete_fields if field.name != "id"]
            )
        )
        for table in TABLES
    }


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def works() -> dict[tuple[datetime, Work], int]:
    rows = UsageHour.objects.filter(attempts__gt=0).values_list("hour", "work", "attempts")
    found: dict[tuple[datetime, Work], int] = {}
    for hour, work, attempts in rows:
        found[hour, Work(work)] = found.get((hour, Work(work)), 0) + attempts
    return found


def traffic(chance: random.Random) -> list[dict[str, Any]]:
    """Three hours of calls with retries and fallbacks, of tasks with tries again, many across an hour's edge."""
    out = []
    for number in range(60):
        start = chance.choice([chance.uniform(0, 179), 60 + chance.uniform(-3, 3), 120 + chance.uniform(-3, 3)])
        task = f"task-{chance.randrange(25)}"
        common = {"call_id": f"call-{number}", "task_id": task, "attempt": chance.randrange(1, 4)}
        common |= {"team": chance.choice(["search", "growth"]), "model": chance.choice(["small", "large"])}
        at = start
        for _ in range(chance.randrange(3)):
            took = chance.uniform(0.01, 2)
            out.append(record(at, took, status="server_error", input_tokens=None, output_tokens=None, **common))
            at += took + chance.uniform(0, 0.2)
        replica = chance.choice(["one", "two"])
        began = start if at > start and chance.random() < 0.5 else at
        model = "large" if chance.random() < 0.3 else common["model"]
        out.append(
            record(began, at - began + chance.uniform(0.1, 8), **(common | {"model": model, "replica": replica}))
        )
    return out


@pytest.mark.parametrize("seed", range(4))
def test_order_and_batches_of_arrival_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    records = traffic(chance)
    outcomes = [(f"task-{i}", chance.random() < 0.7, chance.uniform(0, 200)) for i in range(0, 25, 2)]
    catalog_services.ensure_nouns(
        raws={(kind, raw) for kind, raw in [("team", "search"), ("team", "growth"), ("endpoint", "answers"),
              ("model", "small"), ("model", "large"), ("replica", "one"), ("replica", "two"), ("key", "web")]}
    )  # fmt: skip
    with undone():
        send(*records)
        decide(*outcomes)
        fold()
        assert fold() == []
        at_once = facts()
    with undone():
        chance.shuffle(records)
        waiting = [*outcomes]
        while records:
            size = chance.randrange(1, 30)
            batch, records = records[:size], records[size:]
            send(*batch)
            if waiting and chance.random() < 0.5:
                decide(waiting.pop())
            fold()
        if waiting:
            decide(*waiting)
        fold()
        assert fold() == []
        assert facts() == at_once


@pytest.mark.parametrize("seed", range(3))
def test_what_is_held_and_what_is_shared_adds_up(seed: int) -> None:
    send(*traffic(random.Random(100 + seed)))
    fold()
    rows = selectors.replica_hours(DAY)
    assert len(rows) > 4
    for row in rows:
        assert row.held_us == row.load_us + row.busy_us + row.idle_us + row.down_us
        found = selectors.facts_of_hour(row.hour)
        assert found is not None
        units = sum(usage.share_units for usage in found.usage if usage.replica_id == row.replica_id)
        assert units == row.busy_us * UNITS_PER_US  # never more than 22 at once here
        tasks = sum(share.share_units for share in found.task_shares if share.replica_id == row.replica_id)
        assert tasks == units  # every request names its task
    (whole,) = selectors.usage(window=DAY)
    assert whole.calls == 60


def test_a_call_across_the_hour_counts_once_and_where_it_ended() -> None:
    first = record(59.9, 0.05, call_id="c", status="timeout", input_tokens=None, output_tokens=None)
    again = record(60.01, 1, call_id="c")
    send(first)
    fold()
    assert [(row.bucket, row.calls, row.failed_calls) for row in selectors.usage(window=DAY, bucket="hour")] == [
        (TEN, 1, 1)
    ]
    send(again)
    fold()
    assert [(row.bucket, row.calls, row.failed_calls) for row in selectors.usage(window=DAY, bucket="hour")] == [
        (TEN, 0, 0),
        (TEN + HOUR, 1, 0),
    ]
    assert works() == {(TEN, Work.FIRST): 1, (TEN + HOUR, Work.RETRY): 1}


def test_a_late_first_request_moves_the_task_and_what_followed_it() -> None:
    send(record(70, 1, task_id="t", attempt=2, model="large"))
    decide(("t", True, 80))
    fold()
    assert works() == {(TEN + HOUR, Work.RETRY): 1}
    (cohort,) = TaskCohort.objects.all()
    assert (cohort.cohort_hour, cohort.tasks, cohort.retried_tasks, cohort.escalated_tasks) == (TEN + HOUR, 1, 1, 0)
    send(record(10, 1, task_id="t", attempt=1, model="small"))
    fold()
    assert works() == {(TEN, Work.FIRST): 1, (TEN + HOUR, Work.ESCALATION): 1}
    (cohort,) = TaskCohort.objects.all()
    assert (cohort.cohort_hour, cohort.tasks, cohort.retried_tasks, cohort.escalated_tasks) == (TEN, 1, 1, 1)
    assert cohort.decision == Decision.ACCEPTED
    shares = TaskShare.objects.values_list("hour", "cohort_hour", "decision", "share_units")
    minute = 60_000_000 * UNITS_PER_US
    assert sorted(shares) == [(TEN, TEN, 1, minute), (TEN + HOUR, TEN, 1, minute)]


def test_a_newer_outcome_only_decides_again() -> None:
    send(record(10, 1, task_id="t"), record(50, 20, task_id="t", attempt=2), record(61, 1))
    decide(("t", True, 80))
    fold()
    before = dict(FoldedHour.objects.values_list("hour", "run_id"))
    decide(("t", False, 90))
    decide(("t", True, 85))  # later to arrive, but not later to be decided
    assert fold() == [TEN, TEN + HOUR]
    after = dict(FoldedHour.objects.values_list("hour", "run_id"))
    assert {hour for hour in after if after[hour] != before[hour]} == {TEN, TEN + HOUR}
    assert set(TaskShare.objects.values_list("decision", flat=True)) == {Decision.REJECTED}
    (cohort,) = TaskCohort.objects.all()
    assert (cohort.decision, cohort.review_minutes, cohort.retried_tasks) == (Decision.REJECTED, 1, 1)
    assert fold() == []


def test_only_the_hours_that_late_records_touch_are_folded_again() -> None:
    send(record(10, 1), record(70, 1), record(130, 1))
    assert len(fold()) == 5  # to the hour of NOW, though nothing arrived for the last two
    send(record(80, 50))
    assert fold() == [TEN + HOUR, TEN + 2 * HOUR]


def test_an_hour_in_progress_goes_on() -> None:
    half_past = TEN + timedelta(minutes=30)
    send(record(10, 1), now=half_past)
    assert fold(half_past) == [TEN]
    assert [row.held_us for row in selectors.replica_hours(DAY)] == [20 * 60_000_000]  # since its first request
    assert fold(half_past + timedelta(seconds=59)) == []
    assert fold(half_past + timedelta(seconds=60)) == [TEN]
    assert fold(TEN + HOUR) == [TEN, TEN + HOUR]
    assert [row.held_us for row in selectors.replica_hours(DAY)] == [50 * 60_000_000]


def test_earlier_evidence_of_a_replica_reaches_the_hours_between() -> None:
    send(record(130, 1, replica="two"), record(10, 1, replica="one"))
    fold()
    two = {name.slug: name.id for name in catalog.names("replica").values()}["two"]
    held = [row.held_us / 60e6 for row in selectors.replica_hours(DAY) if row.replica_id == two]
    assert held == [50]
    send(record(10, 1, replica="two"))
    fold()
    held = [row.held_us / 60e6 for row in selectors.replica_hours(DAY) if row.replica_id == two]
    assert held == [50, 60, 60]


def test_a_request_over_three_hours_has_its_share_in_each() -> None:
    send(record(50, 80, task_id="t", output_tokens=80))
    fold()
    rows = selectors.replica_hours(DAY)
    assert [row.busy_us / 60e6 for row in rows] == [10, 60, 10]
    assert [row.logged_generation_tokens for row in rows] == [0, 0, 80]  # no first token: all at the end
    assert [row.attempts for row in selectors.usage(window=DAY, bucket="hour")] == [1]
    assert sum(UsageHour.objects.values_list("share_units", flat=True)) == 80 * 60_000_000 * UNITS_PER_US
    assert {row.cohort_hour for row in TaskShare.objects.all()} == {TEN}


def test_answers_are_spread_over_the_hours_they_took() -> None:
    started = TEN + timedelta(minutes=50)
    first = (started + timedelta(minutes=5)).isoformat()
    send(record(50, 25, stream=True, first_token_at=first, output_tokens=100, input_tokens=7))
    fold()
    rows = selectors.replica_hours(DAY)[:2]
    assert [(row.logged_prompt_tokens, row.logged_generation_tokens) for row in rows] == [(7, 25), (0, 75)]


def test_without_ends_the_busy_time_is_not_known_from_requests() -> None:
    send(record(10, 1, ended_at=None), record(20, 1, ended_at=None), record(30, 1))
    fold()
    row = selectors.replica_hours(DAY)[0]
    assert (row.tier, row.busy_us) == (Tier.WEIGHTED_TOKENS, 0)
    assert set(UsageHour.objects.values_list("share_units", flat=True)) == {0}
    (usage,) = selectors.usage(window=DAY)
    assert usage.e2e.count == 1


def test_failures_on_a_route_that_never_answered_hold_nothing() -> None:
    send(record(10, 1, replica="dead", status="server_error"), record(10, 1, replica="one", status="rate_limited"))
    fold()
    assert selectors.replica_hours(DAY) == []
    assert sum(UsageHour.objects.values_list("share_units", flat=True)) == 0


def test_an_alias_that_is_pointed_elsewhere_is_folded_again() -> None:
    send(record(10, 1, team="serach"), record(70, 1, team="search"))
    fold()
    names = {name.slug: name.id for name in catalog.names("team").values()}
    catalog_services.claim(
        kind="team", noun_id=names["serach"], name="", into=names["search"], audit=catalog_services.no_audit
    )
    fold()
    (row,) = selectors.usage(window=DAY, group_by=("team",))
    assert (row.ids["team"], row.attempts) == (names["search"], 2)


@pytest.mark.parametrize(
    ("held_from", "opens"),
    [
        (datetime(2026, 5, 2, 6, 30, tzinfo=UTC), datetime(2026, 5, 2, 6, tzinfo=UTC)),
        # years ago: the books open with the month of the first record
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)),
        (TEN + HOUR, TEN),
    ],
)
def test_gpus_held_before_the_first_record_are_in_the_books(held_from: datetime, opens: datetime) -> None:
    document = {
        "gpu_types": [{"slug": "gpu", "name": "GPU"}],
        "deployments": [
            {
                "slug": "served",
                "gpu_type": "gpu",
                "replicas": [{"slug": "one", "name": "one", "held_from": held_from.isoformat()}],
            }
        ],
    }
    catalog_services.apply(document=document, actor="test", dry_run=False)
    send(record(0, 1))
    fold()
    assert min(FoldedHour.objects.values_list("hour", flat=True)) == opens
    hours = selectors.replica_hours(Window(opens, TEN))
    begins = max(held_from, opens)
    assert sum(row.held_us for row in hours) == max(0, round((TEN - begins).total_seconds())) * 1_000_000
    assert fold() == []
