"""The version of each UTC hour: it grows with every write, so that who folded an older version knows to fold again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import connection

_TOUCH = """
INSERT INTO ingest_arrivalhour (hour, version, records, longest_us, first_received_at, last_received_at)
SELECT hour, 1, records, longest_us, %s, %s FROM unnest(%s::timestamptz[], %s::bigint[], %s::bigint[])
    AS touched (hour, records, longest_us) ORDER BY hour
ON CONFLICT (hour) DO UPDATE SET
    version = ingest_arrivalhour.version + 1,
    records = ingest_arrivalhour.records + EXCLUDED.records,
    longest_us = GREATEST(ingest_arrivalhour.longest_us, EXCLUDED.longest_us),
    last_received_at = GREATEST(ingest_arrivalhour.last_received_at, EXCLUDED.last_received_at)
"""


def touch_hours(*, versions: Mapping[datetime, tuple[int, int]], now: datetime) -> None:
    """Say that these hours have changed: hour -> (new records that start in it, the longest of them in µs).

    To be called inside the transaction that writes the records. Hours are locked in order of time, so that two writers
    never wait for each other.
    """
    if not versions:
        return
    hours = sorted(versions)
    records = [versions[hour][0] for hour in hours]
    longest = [versions[hour][1] for hour in hours]
    with connection.cursor() as cursor:
        cursor.execute(_TOUCH, [now, now, hours, records, longest])
