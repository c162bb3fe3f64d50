"""Day partitions kept ready ahead of time, and whole days dropped when they are older than the retention."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.db import connection, transaction

from apps.core.time import day_floor
from apps.ingest.partitions import PARTITIONED, ensure_days

DAYS_AHEAD = 3


def maintain_partitions(*, now: datetime, request_days: int | None, engine_days: int | None) -> list[str]:
    """Create the partitions of today and the next days; drop those older than so many days (None: keep all).

    Returns the names of the dropped tables.
    """
    today = day_floor(now).date()
    dropped: list[str] = []
    for table, retention_days in zip(PARTITIONED, (request_days, engine_days), strict=True):
        with transaction.atomic():
            ensure_days(table, [today + timedelta(days=ahead) for ahead in range(DAYS_AHEAD + 1)])
        if retention_days is not None:
            dropped += _drop_before(table, today - timedelta(days=retention_days))
    return dropped


def _drop_before(table: str, first_kept: date) -> list[str]:
    """Drop the partitions of days before `first_kept`; one short transaction each, so that no writer waits long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = %s::regclass ORDER BY 1",
            [table],
        )
        names = [name for (name,) in cursor.fetchall()]
    edge = f"{table}_{first_kept:%Y%m%d}"
    old = [name for name in names if name < edge]
    for name in old:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
    return old
