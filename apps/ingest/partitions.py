"""Day partitions of the request log and of engine minutes: created ahead and on demand, dropped by retention."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from django.db import connection, transaction

PARTITIONED = ("ingest_request", "ingest_engineminute")


def _name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


def ensure_days(table: str, days: Iterable[date]) -> None:
    """Create the partitions of `table` for these UTC days, where missing. Safe against a concurrent creator."""
    if table not in PARTITIONED:
        raise ValueError(f"{table} is not partitioned")
    wanted = {_name(table, day): day for day in sorted(set(days))}
    if not wanted:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS wanted (name) WHERE to_regclass(name) IS NULL", [list(wanted)]
        )
        missing = sorted(name for (name,) in cursor.fetchall())
    for name in missing:
        _create(table, name, wanted[name])


def _create(table: str, name: str, day: date) -> None:
    """Create one day beside the table and attach it: unlike PARTITION OF, that does not lock readers out."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
        cursor.execute("SELECT to_regclass(%s)", [name])
        if cursor.fetchone()[0] is not None:
            return
        start, end = f"{day} 00:00:00+00", f"{day + timedelta(days=1)} 00:00:00+00"
        cursor.execute(f'CREATE TABLE "{name}" (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)')
        cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION \"{name}\" FOR VALUES FROM ('{start}') TO ('{end}')")
