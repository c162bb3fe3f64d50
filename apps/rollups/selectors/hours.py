"""Facts by the hour, as attribution and the checks of its balance read them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from django.db import connection

from apps.core.time import HOUR, Window, hour_floor
from apps.rollups.domain.facts import CohortRow, HourFacts, ReplicaHourRow, TaskShareRow, UsageFact
from apps.rollups.models import FoldedHour, ReplicaHour, TaskCohort, TaskShare, UsageHour


@dataclass(frozen=True, slots=True)
class FoldedHourRow:
    """`run_id` changes whenever the facts of the hour do; `as_of` before the hour's end: the hour is in progress."""

    run_id: UUID
    as_of: datetime
    catalog_change: int = 0
    """The newest change of the catalog that it was folded with, or that does not touch it."""


_EDGES = "SELECT " + ", ".join(
    f"(SELECT {edge}(hour) FROM {table._meta.db_table})"
    for table in (UsageHour, ReplicaHour)
    for edge in ("min", "max")
)


def _names(row: type) -> list[str]:
    return [field.name for field in fields(row)]


def folded_hours(window: Window | None = None) -> dict[datetime, FoldedHourRow]:
    """Hours that have facts (and that the window touches)."""
    found = FoldedHour.objects.all()
    if window is not None:
        found = found.filter(hour__gte=hour_floor(window.start), hour__lt=window.end)
    rows = found.values_list("hour", "run_id", "as_of", "catalog_change")
    return {hour: FoldedHourRow(run_id, as_of, change) for hour, run_id, as_of, change in rows}


def data_range() -> Window | None:
    """From the first to the end of the last hour in which something was attempted or held; None without facts."""
    with connection.cursor() as cursor:
        cursor.execute(_EDGES)
        edges = [edge for edge in cursor.fetchone() or () if edge is not None]
    return Window(min(edges), max(edges) + HOUR) if edges else None


def replica_hours(window: Window) -> list[ReplicaHourRow]:
    """How replicas spent the hours that the window touches, by hour and replica."""
    found = ReplicaHour.objects.filter(hour__gte=hour_floor(window.start), hour__lt=window.end).order_by(
        "hour", "replica_id"
    )
    return [ReplicaHourRow(*row) for row in found.values_list(*_names(ReplicaHourRow))]


def facts_of_hour(hour: datetime) -> HourFacts | None:
    """All that attribution needs of one hour; None if it was never folded."""
    # The run id is read first: facts that are replaced meanwhile are seen as newer than it.
    run_id = FoldedHour.objects.filter(hour=hour).values_list("run_id", flat=True).first()
    if run_id is None:
        return None
    usage = UsageHour.objects.filter(hour=hour).values_list(*_names(UsageFact))
    shares = TaskShare.objects.filter(hour=hour).values_list(*_names(TaskShareRow))
    cohorts = TaskCohort.objects.filter(cohort_hour=hour).values_list(*_names(CohortRow))
    return HourFacts(
        hour=hour,
        run_id=run_id,
        usage=[UsageFact(*row) for row in usage],
        replicas=replica_hours(Window(hour, hour + HOUR)),
        task_shares=[TaskShareRow(*row) for row in shares],
        cohorts=[CohortRow(*row) for row in cohorts],
    )
