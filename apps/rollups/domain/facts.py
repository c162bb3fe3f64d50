"""The facts of one hour as other rooms receive them. Ids are catalog ids, 0 for none given; small ints are of
`core.vocabulary`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from apps.core.query import Dimension


@dataclass(frozen=True, slots=True)
class UsageFact:
    """Attempts of one combination of dimensions: tokens by the hour of their start, `share_units` of this hour."""

    team_id: int
    endpoint_id: int
    model_id: int
    replica_id: int
    key_id: int
    work: int
    status_group: int
    traffic: int
    attempts: int
    input_tokens: int
    cache_read_tokens: int
    output_tokens: int
    share_units: int


@dataclass(frozen=True, slots=True)
class ReplicaHourRow:
    """held = load + busy + idle + down, in microseconds; idle may be negative. Null counts: the engine is not seen."""

    hour: datetime
    replica_id: int
    held_us: int
    load_us: int
    busy_us: int
    idle_us: int
    down_us: int
    tier: int
    logged_prompt_tokens: int
    logged_generation_tokens: int
    counted_prompt_tokens: int | None
    counted_generation_tokens: int | None
    cached_prompt_tokens: int | None
    scrapes: int
    covered_seconds: float
    restarts: int
    preemptions: int | None
    kv_usage_max: float | None
    evidence: datetime | None = None
    """First sign in this hour that the replica was there."""


@dataclass(frozen=True, slots=True)
class TaskShareRow:
    """The part of a usage row's `share_units` that tasks of one cohort and decision used."""

    team_id: int
    endpoint_id: int
    model_id: int
    replica_id: int
    key_id: int
    work: int
    status_group: int
    traffic: int
    cohort_hour: datetime
    cohort_team_id: int
    cohort_endpoint_id: int
    cohort_model_id: int
    decision: int
    share_units: int


@dataclass(frozen=True, slots=True)
class CohortRow:
    """Tasks whose first request is in `cohort_hour`, by owner and newest decision."""

    cohort_hour: datetime
    team_id: int
    endpoint_id: int
    model_id: int
    decision: int
    tasks: int
    retried_tasks: int
    escalated_tasks: int
    review_minutes: Decimal


@dataclass(frozen=True, slots=True)
class Cohort:
    """Cohorts summed over a bucket and a group. `bucket` is its start, None for 'total'."""

    bucket: datetime | None
    ids: dict[Dimension, int]
    decision: int
    tasks: int
    retried_tasks: int
    escalated_tasks: int
    review_minutes: Decimal


@dataclass(frozen=True, slots=True)
class HourFacts:
    """All that attribution needs of one hour. `cohorts` are those whose hour this is."""

    hour: datetime
    run_id: UUID
    usage: list[UsageFact]
    replicas: list[ReplicaHourRow]
    task_shares: list[TaskShareRow]
    cohorts: list[CohortRow]
