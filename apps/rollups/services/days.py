"""Merges the histograms of a day's hours, so that a page over weeks reads a row a day in place of one an hour."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection, transaction

from apps.core.histogram import Histogram
from apps.rollups.domain.usage import HISTOGRAMS
from apps.rollups.models import LatencyDay, MergedDay
from apps.rollups.selectors.days import IDS, days_to_merge, merged_parts

_LOCK = 0x0DA75


def merge_days() -> list[datetime]:
    """Merge every day of which an hour has been folded since; the days that were replaced.

    The digest is taken before the hours are read: a fold in between leaves the day behind, and nobody uses it.
    """
    merged = []
    for day, digest in days_to_merge():
        with transaction.atomic():
            if not _locked():
                break
            _replace(day, digest)
        merged.append(day)
    return merged


def _locked() -> bool:
    """Whether this transaction is the only one that merges."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _replace(day: datetime, digest: str) -> None:
    LatencyDay.objects.filter(day=day).delete()
    found = [LatencyDay(day=day, **_columns(row)) for row in merged_parts(day)]
    LatencyDay.objects.bulk_create(found, batch_size=500)
    MergedDay.objects.update_or_create(day=day, defaults={"digest": digest})


def _columns(row: tuple[Any, ...]) -> dict[str, Any]:
    ids = dict(zip(IDS, row[: len(IDS)], strict=True))
    return ids | {
        name: Histogram.merged([packed or b""]).pack() for name, packed in zip(HISTOGRAMS, row[len(IDS) :], strict=True)
    }
