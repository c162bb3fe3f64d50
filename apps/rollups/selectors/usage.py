"""Usage over any window, grouped by any dimensions: sums in SQL, histograms merged by addition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.core.histogram import Histogram
from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import Window
from apps.rollups.domain.usage import COUNTS, HISTOGRAMS
from apps.rollups.selectors.query import bucket_of, condition, ids_of, rows

_SUMMED = tuple(name for name in COUNTS if name != "share_units")


@dataclass(frozen=True, slots=True)
class Usage:
    """Attempts by the hour of their start, summed. `bucket` is its start, None for 'total'; latencies in seconds.

    `calls` are client requests; attempts of one call count it once. Token sums are of those attempts whose source gave
    numbers; answered ones without are in `without_tokens`.
    """

    bucket: datetime | None
    ids: dict[Dimension, int]
    attempts: int
    calls: int
    failed_calls: int
    ok: int
    client_error: int
    rate_limited: int
    server_error: int
    timeout: int
    aborted: int
    partial: int
    streamed: int
    without_tokens: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    ttft: Histogram
    itl: Histogram
    e2e: Histogram
    queue: Histogram


def usage(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> list[Usage]:
    """Groups in which something was attempted, by bucket and ids; hours count that the window touches."""
    where, parameters = condition(window, filters, "hour")
    keys = [f"{dimension}_id" for dimension in group_by]
    places = ", ".join(str(place + 1) for place in range(len(keys) + 1))
    columns = [
        f"{bucket_of(bucket, 'hour')} AS bucket",
        *keys,
        *(f"sum({name})::bigint" for name in _SUMMED),
        *(f"string_agg({name}, '')" for name in HISTOGRAMS),
    ]
    query = (
        f"SELECT {', '.join(columns)} FROM rollups_usagehour WHERE {where}"
        f" GROUP BY {places} HAVING sum(attempts) > 0 ORDER BY {places}"
    )
    counts_at = 1 + len(keys)
    packed_at = counts_at + len(_SUMMED)
    return [
        Usage(
            row[0],
            ids_of(group_by, row[1:counts_at]),
            *row[counts_at:packed_at],
            *(Histogram.merged([packed]) for packed in row[packed_at:]),
        )
        for row in rows(query, parameters)
    ]
