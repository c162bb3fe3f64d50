"""Facts of one hour, replica-hours and cohorts, as attribution reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import TruncDay

from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import Window, hour_floor
from apps.rollups.domain.facts import Cohort, CohortRow, HourFacts, ReplicaHourRow, TaskShareRow, UsageFact
from apps.rollups.models import FoldedHour, ReplicaHour, TaskCohort, TaskShare, UsageHour

COHORT_DIMENSIONS: tuple[Dimension, ...] = ("team", "endpoint", "model")

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class FoldedHourRow:
    """Which run made the facts of an hour, and up to when it saw records."""

    run_id: UUID
    as_of: datetime


def folded_hours(window: Window | None = None) -> dict[datetime, FoldedHourRow]:
    """Folded hours that start in the window (None: all), oldest first."""
    rows = FoldedHour.objects.order_by("hour")
    if window is not None:
        rows = rows.filter(hour__gte=window.start, hour__lt=window.end)
    return {hour: FoldedHourRow(run_id, as_of) for hour, run_id, as_of in rows.values_list("hour", "run_id", "as_of")}


def facts_of_hour(hour: datetime) -> HourFacts | None:
    """What attribution needs of one hour; None if it was never folded.

    The run id is read first: facts that are replaced while they are read carry the id of the run before.
    """
    run_id = FoldedHour.objects.filter(hour=hour).values_list("run_id", flat=True).first()
    if run_id is None:
        return None
    return HourFacts(
        hour=hour,
        run_id=run_id,
        usage=_rows(UsageFact, UsageHour.objects.filter(hour=hour)),
        replicas=_rows(ReplicaHourRow, ReplicaHour.objects.filter(hour=hour)),
        task_shares=_rows(TaskShareRow, TaskShare.objects.filter(hour=hour)),
        cohorts=_rows(CohortRow, TaskCohort.objects.filter(cohort_hour=hour)),
    )


def replica_hours(window: Window) -> list[ReplicaHourRow]:
    """Replica-hours of the hours that the window touches, by hour and replica."""
    rows = ReplicaHour.objects.filter(hour__gte=hour_floor(window.start), hour__lt=window.end)
    return _rows(ReplicaHourRow, rows.order_by("hour", "replica_id"))


def cohorts(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008
) -> list[Cohort]:
    """Tasks whose first request lies in the hours that the window touches, by bucket, ids and decision.

    Raises ValueError for dimensions that a cohort does not have.
    """
    _only(COHORT_DIMENSIONS, [*group_by, *(dimension for dimension, _ in filters.items())])
    keep = Q(cohort_hour__gte=hour_floor(window.start), cohort_hour__lt=window.end)
    for dimension, ids in filters.items():
        keep &= Q(**{f"{dimension}_id__in": ids})
    rows = TaskCohort.objects.filter(keep)
    keys = [f"{dimension}_id" for dimension in group_by] + ["decision"]
    if bucket == "day":
        rows = rows.annotate(start=TruncDay("cohort_hour", tzinfo=UTC))
    elif bucket == "hour":
        rows = rows.annotate(start=F("cohort_hour"))
    if bucket != "total":
        keys = ["start", *keys]
    sums = {name: Sum(name) for name in ("tasks", "retried_tasks", "escalated_tasks", "review_minutes")}
    summed: QuerySet[Any, dict[str, Any]] = (
        rows.values(*keys).annotate(**{f"sum_{name}": total for name, total in sums.items()}).order_by(*keys)
    )
    return [
        Cohort(
            bucket=row.get("start"),
            ids={dimension: row[f"{dimension}_id"] for dimension in group_by},
            decision=row["decision"],
            tasks=row["sum_tasks"],
            retried_tasks=row["sum_retried_tasks"],
            escalated_tasks=row["sum_escalated_tasks"],
            review_minutes=row["sum_review_minutes"],
        )
        for row in summed
    ]


def _rows(kind: type[R], rows: QuerySet[Any]) -> list[R]:
    """Rows as the dataclass `kind`, whose fields are columns."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return [kind(*row) for row in rows.values_list(*names)]


def _only(allowed: Sequence[Dimension], asked: Sequence[Dimension]) -> None:
    if unknown := [dimension for dimension in asked if dimension not in allowed]:
        raise ValueError(f"tasks have no {', '.join(unknown)}: use {', '.join(allowed)}")
