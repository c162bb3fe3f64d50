"""Good facts, holdings and prices to spoil one thing at a time; used by the tests of attribution."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from apps.catalog.domain.nouns import Holding
from apps.catalog.domain.prices import PriceBook, PriceEntry, SeriesKey
from apps.core.vocabulary import Tier
from apps.rollups.domain.facts import CohortRow, HourFacts, ReplicaHourRow, TaskShareRow, UsageFact

HOUR = datetime(2026, 11, 30, 10, tzinfo=UTC)
START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
OWNER, GPU, DEPLOYMENT, MODEL, REPLICA = 9, 5, 4, 3, 1


def usage(team: int, units: int = 0, **more: Any) -> UsageFact:
    good = UsageFact(
        team_id=team, endpoint_id=20 + team, model_id=MODEL, replica_id=REPLICA, key_id=0, work=0, status_group=0,
        traffic=0, attempts=1, input_tokens=0, cache_read_tokens=0, output_tokens=0, share_units=units,
    )  # fmt: skip
    return replace(good, **more)


def replica_hour(busy: int = 0, idle: int | None = None, load: int = 0, down: int = 0, **more: Any) -> ReplicaHourRow:
    """Times in microseconds; held for the whole hour unless `idle` says otherwise."""
    idle = 3600 * SECOND - busy - load - down if idle is None else idle
    good = ReplicaHourRow(
        hour=HOUR, replica_id=REPLICA, held_us=busy + idle + load + down, load_us=load, busy_us=busy, idle_us=idle,
        down_us=down, tier=Tier.SHARED_TIME, logged_prompt_tokens=0, logged_generation_tokens=0,
        counted_prompt_tokens=None, counted_generation_tokens=None, cached_prompt_tokens=None, scrapes=0,
        covered_seconds=0.0, restarts=0, preemptions=None, kv_usage_max=None,
    )  # fmt: skip
    return replace(good, **more)


def holding(gpus: str | None = "1", **more: Any) -> Holding:
    good = Holding(
        replica_id=REPLICA, slug="small-0", deployment_id=DEPLOYMENT, model_id=MODEL, owner_team_id=OWNER,
        gpu_type_id=GPU, gpu_type_name="H200", gpus=None if gpus is None else Decimal(gpus), held_from=None,
        held_until=None,
    )  # fmt: skip
    return replace(good, **more)


def price(
    amount: str, since: datetime = START, until: datetime | None = None, number: int = 1, **more: Any
) -> PriceEntry:
    good = PriceEntry(
        id=number, series=SeriesKey("gpu_hour", GPU, 0), amount=Decimal(amount), currency="USD",
        effective_from=since, effective_until=until, source="test",
    )  # fmt: skip
    return replace(good, **more)


def reviewer(amount: str, endpoint: int = 0, number: int = 50) -> PriceEntry:
    return price(amount, number=number, series=SeriesKey("reviewer_hour", 0, endpoint))


def book(*entries: PriceEntry) -> PriceBook:
    return PriceBook(entries, {GPU: "H200"})


def task_share(row: UsageFact, units: int, decision: int = 1, endpoint: int = 7, hours_ago: int = 0) -> TaskShareRow:
    return TaskShareRow(
        team_id=row.team_id, endpoint_id=row.endpoint_id, model_id=row.model_id, replica_id=row.replica_id,
        key_id=row.key_id, work=row.work, status_group=row.status_group, traffic=row.traffic,
        cohort_hour=HOUR - timedelta(hours=hours_ago), cohort_team_id=row.team_id, cohort_endpoint_id=endpoint,
        cohort_model_id=MODEL, decision=decision, share_units=units,
    )  # fmt: skip


def facts(
    usage: list[UsageFact],
    replicas: list[ReplicaHourRow],
    task_shares: list[TaskShareRow] | None = None,
    cohorts: list[CohortRow] | None = None,
) -> HourFacts:
    return HourFacts(HOUR, UUID(int=1), usage, replicas, task_shares or [], cohorts or [])
