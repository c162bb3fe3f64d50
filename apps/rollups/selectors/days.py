"""Which days have merged histograms that are those of their hours as they are now."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apps.core.time import DAY, EPOCH, Window, day_floor
from apps.rollups.domain.usage import HISTOGRAMS
from apps.rollups.selectors.query import rows

IDS = ("team_id", "endpoint_id", "model_id", "replica_id", "key_id")
_NOW = """
SELECT date_trunc('day', hour, 'UTC') AS day, md5(string_agg(fold_id::text, ',' ORDER BY hour)) AS digest,
    max(hour) AS last_hour
FROM rollups_foldedhour WHERE hour >= %(first_day)s AND hour < %(after_last_day)s GROUP BY 1
"""
WHOLE_DAYS = f"""
SELECT day FROM rollups_mergedday JOIN ({_NOW}) AS folded USING (day, digest)
WHERE day >= %(start)s AND last_hour < %(end)s
"""
"""SQL of the days of the window [start, end) that lie in it with all their hours and may be read as days."""


def day_parameters(window: Window) -> dict[str, Any]:
    """What WHOLE_DAYS needs beside `start` and `end`."""
    return {"first_day": day_floor(window.start), "after_last_day": day_floor(window.end) + DAY}


def days_to_merge() -> list[tuple[datetime, str]]:
    """Days whose hours were folded since they were merged, with the digest that they have now; oldest first."""
    query = f"""
        SELECT folded.day, folded.digest FROM ({_NOW}) AS folded LEFT JOIN rollups_mergedday merged USING (day)
        WHERE merged.digest IS DISTINCT FROM folded.digest ORDER BY 1
    """
    return [(row[0], row[1]) for row in rows(query, {"first_day": EPOCH, "after_last_day": EPOCH + 100_000 * DAY})]


def merged_parts(day: datetime) -> list[tuple[Any, ...]]:
    """IDS and, in the order of HISTOGRAMS, the packed histograms of the day's hours end to end."""
    packed = ", ".join(f"string_agg({name}, '')" for name in HISTOGRAMS)
    query = f"""
        SELECT {", ".join(IDS)}, {packed}
        FROM rollups_usagehour WHERE hour >= %(start)s AND hour < %(end)s GROUP BY 1, 2, 3, 4, 5
    """
    return rows(query, {"start": day, "end": day + DAY})
