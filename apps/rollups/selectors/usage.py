"""Usage over any window, grouped by any dimensions: sums in SQL, histograms merged by addition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from apps.core.histogram import Histogram
from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import Window
from apps.rollups.domain.usage import COUNTS, HISTOGRAMS
from apps.rollups.selectors.days import IDS, WHOLE_DAYS, day_parameters
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


def merged(rows: Sequence[Usage]) -> Usage | None:
    """All rows as one, for whoever already holds the parts of a whole; None where nothing was attempted."""
    if not rows:
        return None
    counts: list[Any] = [sum(getattr(row, name) for row in rows) for name in _SUMMED]
    histograms = [Histogram(np.sum([getattr(row, name).counts for row in rows], axis=0)) for name in HISTOGRAMS]
    return Usage(None, {}, *counts, *histograms)


def usage(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008 - frozen
    latencies: Sequence[str] = HISTOGRAMS,
) -> list[Usage]:
    """Groups in which something was attempted, by bucket and ids; hours count that the window touches.

    Histograms that are not named in `latencies` are not read, and empty.
    """
    where, parameters = condition(window, filters, "hour")
    keys = [f"{dimension}_id" for dimension in group_by]
    places = ", ".join(str(place + 1) for place in range(len(keys) + 1))
    head = ", ".join([f"{bucket_of(bucket, 'hour')} AS bucket", *keys])
    query = (
        f"SELECT {head}, {', '.join(f'sum({name})::bigint' for name in _SUMMED)} FROM rollups_usagehour"
        f" WHERE {where} GROUP BY {places} HAVING sum(attempts) > 0 ORDER BY {places}"
    )
    width = 1 + len(keys)
    histograms = _histograms(window, filters, bucket, head, places, latencies)
    none = _in_order({}, latencies)
    return [
        Usage(row[0], ids_of(group_by, row[1:width]), *row[width:], *histograms.get(row[:width], none))
        for row in rows(query, parameters)
    ]


def _histograms(
    window: Window, filters: Filters, bucket: Bucket, head: str, places: str, latencies: Sequence[str]
) -> dict[tuple[Any, ...], tuple[Histogram, ...]]:
    """Merged histograms by bucket and ids, of whole days where they are merged already, else of hours."""
    if not latencies:
        return {}
    where, parameters = condition(window, filters, "hour")
    packed = ", ".join(latencies)
    parts = f"SELECT hour, {', '.join(IDS)}, {packed} FROM rollups_usagehour WHERE {where}"
    days = ""
    if bucket != "hour":
        of_days, _ = condition(window, filters, "day")
        days = f"WITH whole AS MATERIALIZED ({WHOLE_DAYS}) "
        parts += (
            " AND date_trunc('day', hour, 'UTC') NOT IN (SELECT day FROM whole)"
            f" UNION ALL SELECT day, {', '.join(IDS)}, {packed} FROM rollups_latencyday"
            f" WHERE {of_days} AND day IN (SELECT day FROM whole)"
        )
        parameters |= day_parameters(window)
    aggregates = ", ".join(f"string_agg({name}, '')" for name in latencies)
    query = f"{days}SELECT {head}, {aggregates} FROM ({parts}) AS parts GROUP BY {places}"
    width = len(places.split(", "))
    return {
        row[:width]: _in_order(dict(zip(latencies, row[width:], strict=True)), latencies)
        for row in rows(query, parameters)
    }


def _in_order(packed: dict[str, bytes | None], latencies: Sequence[str]) -> tuple[Histogram, ...]:
    """The histograms in the order of HISTOGRAMS."""
    return tuple(
        Histogram.merged([packed.get(name) or b""]) if name in latencies else Histogram() for name in HISTOGRAMS
    )
