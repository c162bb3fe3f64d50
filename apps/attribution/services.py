"""Replaces hours of the ledger: facts, holdings and prices in, ledger lines and task costs stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from uuid import UUID, uuid4

from django.db import connection, transaction

from apps.attribution.domain.allocate import allocate_hour
from apps.attribution.domain.behind import Basis, hours_behind
from apps.attribution.domain.lines import Line
from apps.attribution.domain.task_cost import TaskCostLine, review_costs_of_hour, task_costs_of_hour
from apps.attribution.models import AttributedHour, LedgerLine, TaskCost
from apps.catalog import selectors as catalog
from apps.core.time import EPOCH, HOUR, hour_floor
from apps.rollups import selectors as rollups

Progress = Callable[[int, int], None]
"""Called after each hour with (hours done, hours to do)."""

_LOCK = 0x617474  # "att": the first half of the advisory locks of this room; the second is the hour


@dataclass(frozen=True, slots=True)
class Attributed:
    """What one run wrote."""

    hour: datetime
    run_id: UUID
    lines: int
    task_costs: int


def attribute_hour(*, hour: datetime, now: datetime) -> Attributed | None:
    """Replace the ledger of the UTC hour that `hour` lies in; None, and nothing changed, if it was never folded.

    The same facts and prices give the same rows, but for the run id. Waits for another run of the same hour.
    """
    start = hour_floor(hour)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", _lock_of(start))
        return _replace(start, now)


def attribute_dirty(*, now: datetime, limit: int | None = None, progress: Progress | None = None) -> list[datetime]:
    """Attribute the hours that are behind their facts or prices, newest first; the hours that were replaced.

    An hour that another run holds, or has replaced meanwhile, is left to it.
    """
    newest_change = catalog.latest_change()
    done = {row.hour: row for row in AttributedHour.objects.all()}
    basis = {hour: Basis(row.fold_run_id, row.catalog_change) for hour, row in done.items()}
    changes = catalog.changes_since(min((b.catalog_change for b in basis.values()), default=newest_change))
    folded = {hour: row.run_id for hour, row in rollups.folded_hours().items()}
    behind = hours_behind(folded, basis, changes)
    # What no change has touched need not be compared with these changes again.
    AttributedHour.objects.filter(catalog_change__lt=newest_change).exclude(hour__in=behind).update(
        catalog_change=newest_change
    )
    seen = {hour: row.run_id for hour, row in done.items()}
    return _attribute_each(behind[:limit], progress, lambda hour: _attribute_unless_taken(hour, seen.get(hour), now))


def attribute_all(*, now: datetime, progress: Progress | None = None) -> list[datetime]:
    """Attribute every folded hour again, newest first."""
    hours = sorted(rollups.folded_hours(), reverse=True)
    return _attribute_each(hours, progress, lambda hour: attribute_hour(hour=hour, now=now))


def _attribute_each(
    hours: Sequence[datetime],
    progress: Progress | None,
    attribute: Callable[[datetime], Attributed | None],
) -> list[datetime]:
    replaced = []
    for number, hour in enumerate(hours, start=1):
        if attribute(hour):
            replaced.append(hour)
        if progress:
            progress(number, len(hours))
    return replaced


def _attribute_unless_taken(hour: datetime, seen: UUID | None, now: datetime) -> Attributed | None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", _lock_of(hour))
            if not cursor.fetchone()[0]:
                return None
        current = AttributedHour.objects.filter(hour=hour).values_list("run_id", flat=True).first()
        return _replace(hour, now) if current == seen else None


def _lock_of(hour: datetime) -> tuple[int, int]:
    return _LOCK, (hour - EPOCH) // HOUR


def _replace(hour: datetime, now: datetime) -> Attributed | None:
    # The change and the run id are read before what they stand for: what moves in between is seen as behind next time.
    change = catalog.latest_change()
    holdings = {holding.replica_id: holding for holding in catalog.replica_holdings()}
    book = catalog.price_book()
    facts = rollups.facts_of_hour(hour)
    if facts is None:
        return None
    lines = allocate_hour(facts, holdings, book)
    costs = [
        *task_costs_of_hour(lines, facts.usage, facts.task_shares),
        *review_costs_of_hour(facts.cohorts, book),
    ]
    run_id = uuid4()
    LedgerLine.objects.filter(hour=hour).delete()
    TaskCost.objects.filter(hour=hour).delete()
    _copy(LedgerLine, Line, ["hour", "run_id", "line"], ((line, (hour, run_id, n)) for n, line in enumerate(lines)))
    _copy(TaskCost, TaskCostLine, ["hour", "run_id"], ((cost, (hour, run_id)) for cost in costs))
    AttributedHour.objects.update_or_create(
        hour=hour,
        defaults={
            "fold_run_id": facts.run_id,
            "catalog_change": change,
            "run_id": run_id,
            "attributed_at": now,
        },
    )
    return Attributed(hour, run_id, len(lines), len(costs))


def _copy(
    model: type[LedgerLine] | type[TaskCost],
    kind: type[Line] | type[TaskCostLine],
    more_columns: Sequence[str],
    rows: Iterable[tuple[Line | TaskCostLine, tuple[object, ...]]],
) -> None:
    """COPY dataclasses of `kind`, whose fields are columns of the model, each with its values of `more_columns`."""
    names = [field.name for field in fields(kind)]
    values = attrgetter(*names)
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {model._meta.db_table} ({', '.join([*more_columns, *names])}) FROM STDIN") as copy,
    ):
        for row, more in rows:
            copy.write_row((*more, *values(row)))
