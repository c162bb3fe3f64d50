"""Finds what is behind, and folds or decides it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction

from apps.catalog import selectors as catalog
from apps.core.time import Window
from apps.ingest import selectors as ingest
from apps.rollups.domain.attempts import Int64
from apps.rollups.domain.dirty import Basis, hours_behind
from apps.rollups.models import FoldedHour, OutcomeCursor, TaskHour
from apps.rollups.services.days import merge_days
from apps.rollups.services.folding import decide_hour, fold_hour

Progress = Callable[[int, int], None]
"""Called with hours done and hours to do so far."""


def fold_dirty(*, now: datetime, limit: int | None = None, progress: Progress | None = None) -> list[datetime]:
    """Fold the hours that are behind, then decide those whose tasks have new outcomes; the hours that changed.

    At most `limit` hours are folded. Whatever is not done, or is cut off, is still behind the next time.
    """
    changed = _fold_each(_behind(now)[:limit], now, progress)
    # Hours that others have made stale. Folding them changes nothing for others, so this ends; hours that new records
    # arrive for meanwhile wait for the next time, else a busy source would keep this running.
    while (limit is None or len(changed) < limit) and (hours := _again()):
        changed += _fold_each(hours[: None if limit is None else limit - len(changed)], now, progress)
    _mark_decided()
    decided = decide_hours(hours=list(FoldedHour.objects.filter(decide_again=True).values_list("hour", flat=True)))
    merge_days()
    return sorted({*changed, *decided})


def decide_hours(*, hours: Sequence[datetime]) -> list[datetime]:
    """Decide the tasks of these hours by the outcomes that are now the newest; the hours that have facts."""
    return [hour for hour in sorted(hours) if decide_hour(hour=hour)]


def fold_span(*, window: Window | None, now: datetime, progress: Progress | None = None) -> list[datetime]:
    """Fold every hour (of the window) again that has records or facts, whether it is behind or not."""
    known = set(ingest.arrivals()) | set(FoldedHour.objects.values_list("hour", flat=True))
    hours = sorted(hour for hour in known if window is None or window.start <= hour < window.end)
    _fold_each(hours, now, progress)
    merge_days()
    return hours


def _fold_each(hours: Sequence[datetime], now: datetime, progress: Progress | None) -> list[datetime]:
    for number, hour in enumerate(hours, start=1):
        fold_hour(hour=hour, now=now)
        if progress:
            progress(number, len(hours))
    return list(hours)


def _again() -> list[datetime]:
    return list(FoldedHour.objects.filter(fold_again=True).order_by("hour").values_list("hour", flat=True))


def _behind(now: datetime) -> list[datetime]:
    newest = catalog.latest_change("labels")
    versions = {hour: arrival.version for hour, arrival in ingest.arrivals().items()}
    folded = {
        row.hour: Basis(row.arrival_version, row.catalog_change, row.as_of, row.fold_again)
        for row in FoldedHour.objects.all()
    }
    changes = catalog.changes_since(min((basis.catalog_change for basis in folded.values()), default=newest))
    held_from = min((h.held_from for h in catalog.replica_holdings() if h.held_from is not None), default=None)
    labels = [change for change in changes if change.what == "labels"]
    behind = hours_behind(versions, folded, labels, now, held_from)
    # What no change has touched need not be compared with these changes again.
    FoldedHour.objects.filter(catalog_change__lt=newest).exclude(hour__in=behind).update(catalog_change=newest)
    return behind


def _mark_decided() -> None:
    """Mark the hours whose tasks have got outcomes since the last time."""
    newest = ingest.settled_outcome_id()
    if newest is None:
        return
    with transaction.atomic():
        cursor, _ = OutcomeCursor.objects.select_for_update().get_or_create(id=1)
        if newest <= cursor.outcome_id:
            return
        hours = _hours_of(ingest.tasks_decided(cursor.outcome_id, newest))
        FoldedHour.objects.filter(hour__in=hours).update(decide_again=True)
        cursor.outcome_id = newest
        cursor.save()


def _hours_of(task_keys: Int64) -> set[datetime]:
    step = 10_000
    hours: set[datetime] = set()
    for start in range(0, len(task_keys), step):
        keys = task_keys[start : start + step].tolist()
        hours |= set(TaskHour.objects.filter(task_key__in=keys).values_list("hour", flat=True).distinct())
    return hours
