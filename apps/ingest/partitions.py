"""Day partitions of the request log and of engine minutes: created ahead and on demand, dropped by retention."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from django.db import connection

PARTITIONED = ("ingest_request", "ingest_engineminute")


def _name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


def ensure_days(table: str, days: Iterable[date]) -> None:
    """Create the partitions of `table` for these UTC days, where missing. Safe against a concurrent creator."""
    if table not in PARTITIONED:
        raise ValueError(f"{table} is not partitioned")
    with connection.cursor() as cursor:
        for day in sorted(set(days)):
            cursor.execute("SELECT to_regclass(%s)", [_name(table, day)])
            if cursor.fetchone()[0] is not None:
                continue
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [_name(table, day)])
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {_name(table, day)} PARTITION OF {table} "
                f"FOR VALUES FROM ('{day} 00:00:00+00') TO ('{day + timedelta(days=1)} 00:00:00+00')"
            )
