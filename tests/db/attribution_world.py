"""A small company in the database: two teams, one priced replica and one that nobody owns, and facts by the hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from apps.catalog.models import Change, Deployment, Endpoint, GpuType, InferenceModel, Price, Replica, Team
from apps.core.vocabulary import Decision, Tier
from apps.rollups.models import FoldedHour, ReplicaHour, TaskCohort, TaskShare, UsageHour

HOUR = datetime(2026, 11, 30, 10, tzinfo=UTC)
SECOND = 1_000_000


@dataclass(frozen=True)
class World:
    support: Team
    search: Team
    owner: Team
    chat: Endpoint
    lookup: Endpoint
    model: InferenceModel
    gpu: GpuType
    replica: Replica
    stray: Replica


def build() -> World:
    support, search, owner = (Team.objects.create(slug=s, name=s) for s in ("support", "search", "platform"))
    chat, lookup = (
        Endpoint.objects.create(slug=s, name=s, decision_window_hours=w) for s, w in (("chat", 72), ("lookup", 24))
    )
    model = InferenceModel.objects.create(slug="granite", name="granite")
    gpu = GpuType.objects.create(slug="h200", name="H200")
    deployment = Deployment.objects.create(
        slug="granite", name="granite", model=model, owner=owner, gpu_type=gpu, gpus_per_replica=Decimal(2)
    )
    replica = Replica.objects.create(slug="granite-0", name="granite-0", deployment=deployment)
    stray = Replica.objects.create(slug="stray-0", name="stray-0", claimed=False)
    world = World(support, search, owner, chat, lookup, model, gpu, replica, stray)
    gpu_price(world, "3.00", assumed=True)
    Price.objects.create(
        kind="reviewer_hour", amount=Decimal(45), effective_from=HOUR - timedelta(days=30), source="payroll"
    )
    return world


def gpu_price(world: World, amount: str, **more: Any) -> Price:
    values = {"effective_from": HOUR - timedelta(days=30), "source": "an assumption", **more}
    return Price.objects.create(kind="gpu_hour", gpu_type=world.gpu, amount=Decimal(amount), **values)


def price_change(since: datetime | None, until: datetime | None = None) -> Change:
    return Change.objects.create(what="prices", affects_from=since, affects_until=until, reason="test")


def fold(hour: datetime = HOUR) -> FoldedHour:
    """The hour's facts are said to be new."""
    folded, _ = FoldedHour.objects.update_or_create(
        hour=hour, defaults={"arrival_version": 1, "catalog_change": 0, "as_of": hour, "run_id": uuid4()}
    )
    return folded


def usage(world: World, team: Team, units: int, hour: datetime = HOUR, **more: Any) -> UsageHour:
    endpoint = world.chat if team == world.support else world.lookup
    zero = dict.fromkeys(
        [
            "calls", "failed_calls", "ok", "client_error", "rate_limited", "server_error", "timeout", "aborted",
            "partial", "streamed", "without_tokens", "input_tokens", "cache_read_tokens", "cache_write_tokens",
            "output_tokens", "reasoning_tokens", "key_id", "work", "status_group", "traffic",
        ],
        0,
    )  # fmt: skip
    values: dict[str, Any] = {
        **zero, "hour": hour, "team_id": team.id, "endpoint_id": endpoint.id, "model_id": world.model.id,
        "replica_id": world.replica.id, "attempts": 1, "share_units": units, "ttft": b"", "itl": b"", "e2e": b"",
        "queue": b"", **more,
    }  # fmt: skip
    return UsageHour.objects.create(**values)


def replica_hour(world: World, busy_seconds: int, hour: datetime = HOUR, **more: Any) -> ReplicaHour:
    busy = busy_seconds * SECOND
    values: dict[str, Any] = {
        "hour": hour, "replica_id": world.replica.id, "held_us": 3600 * SECOND, "load_us": 0, "busy_us": busy,
        "idle_us": 3600 * SECOND - busy, "down_us": 0, "tier": Tier.SHARED_TIME, "logged_prompt_tokens": 0,
        "logged_generation_tokens": 0, "scrapes": 0, "covered_seconds": 0.0, "restarts": 0, **more,
    }  # fmt: skip
    return ReplicaHour.objects.create(**values)


def task_share(row: UsageHour, units: int, decision: Decision, cohort_hour: datetime = HOUR, **more: Any) -> TaskShare:
    same = [
        "hour", "team_id", "endpoint_id", "model_id", "replica_id", "key_id", "work", "status_group", "traffic",
    ]  # fmt: skip
    values: dict[str, Any] = {
        **{name: getattr(row, name) for name in same},
        "cohort_hour": cohort_hour, "cohort_team_id": row.team_id, "cohort_endpoint_id": row.endpoint_id,
        "cohort_model_id": row.model_id, "decision": decision, "share_units": units, **more,
    }  # fmt: skip
    return TaskShare.objects.create(**values)


def cohort(
    row: UsageHour, decision: Decision, tasks: int, minutes: str = "0", cohort_hour: datetime = HOUR, **more: Any
) -> TaskCohort:
    values: dict[str, Any] = {
        "cohort_hour": cohort_hour, "team_id": row.team_id, "endpoint_id": row.endpoint_id, "model_id": row.model_id,
        "decision": decision, "tasks": tasks, "retried_tasks": 0, "escalated_tasks": 0,
        "review_minutes": Decimal(minutes), **more,
    }  # fmt: skip
    return TaskCohort.objects.create(**values)
