"""Usage over any window, grouped by any dimensions: sums in SQL, histograms merged by addition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from apps.core.histogram import Histogram
from apps.core.query import Ask, Bucket, Dimension, Filters
from apps.core.time import Window
from apps.rollups.domain.usage import COUNTS, HISTOGRAMS
from apps.rollups.selectors.days import IDS, WHOLE_DAYS, day_parameters
from apps.rollups.selectors.query import bucket_of, condition, ids_of, ids_sql, together

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
    return usage_of([Ask(window, group_by, bucket)], filters, latencies)[0]


def usage_of(
    asks: Sequence[Ask],
    filters: Filters = Filters(),  # noqa: B008 - frozen
    latencies: Sequence[str] = HISTOGRAMS,
) -> list[list[Usage]]:
    """The usage of each ask, all read with one query."""
    parts = [_counts(ask, filters, latencies) for ask in asks]
    if latencies:
        parts += [_histograms(ask, filters, latencies) for ask in asks]
    counts: list[list[tuple[Any, ...]]] = [[] for _ in asks]
    packed: list[dict[tuple[Any, ...], tuple[Any, ...]]] = [{} for _ in asks]
    for number, bucket, ids, *columns in together(parts):
        key = bucket, tuple(ids)
        if number < len(asks):
            counts[number].append((key, columns[: len(_SUMMED)]))
        else:
            packed[number - len(asks)][key] = tuple(columns[len(_SUMMED) :])
    none = (None,) * len(latencies)
    return [
        [
            Usage(bucket, ids_of(ask.group_by, ids), *sums, *_in_order(packed_of.get((bucket, ids), none), latencies))
            for (bucket, ids), sums in rows
        ]
        for ask, rows, packed_of in zip(asks, counts, packed, strict=True)
    ]


def _head(ask: Ask) -> str:
    return f"{bucket_of(ask.bucket, 'hour')} AS bucket, {ids_sql(ask.group_by)} AS ids"


def _counts(ask: Ask, filters: Filters, latencies: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Sums by bucket and ids, with empty columns where the query of the histograms has its own."""
    where, parameters = condition(ask.window, filters, "hour")
    sums = ", ".join([f"sum({n})::bigint AS {n}" for n in _SUMMED] + [f"NULL::bytea AS {n}" for n in latencies])
    return (
        f"SELECT {_head(ask)}, {sums} FROM rollups_usagehour WHERE {where} GROUP BY 1, 2 HAVING sum(attempts) > 0",
        parameters,
    )


def _histograms(ask: Ask, filters: Filters, latencies: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Merged histograms by bucket and ids, of whole days where they are merged already, else of hours."""
    where, parameters = condition(ask.window, filters, "hour")
    packed = ", ".join(latencies)
    parts = f"SELECT hour, {', '.join(IDS)}, {packed} FROM rollups_usagehour WHERE {where}"
    days = ""
    if ask.bucket != "hour":
        of_days, _ = condition(ask.window, filters, "day")
        days = f"WITH whole AS MATERIALIZED ({WHOLE_DAYS}) "
        parts += (
            " AND date_trunc('day', hour, 'UTC') NOT IN (SELECT day FROM whole)"
            f" UNION ALL SELECT day, {', '.join(IDS)}, {packed} FROM rollups_latencyday"
            f" WHERE {of_days} AND day IN (SELECT day FROM whole)"
        )
        parameters |= day_parameters(ask.window)
    sums = ", ".join(
        [f"NULL::bigint AS {n}" for n in _SUMMED] + [f"string_agg({n}, ''::bytea) AS {n}" for n in latencies]
    )
    return f"{days}SELECT {_head(ask)}, {sums} FROM ({parts}) AS parts GROUP BY 1, 2", parameters


def _in_order(packed: Sequence[bytes | None], latencies: Sequence[str]) -> tuple[Histogram, ...]:
    """The histograms in the order of HISTOGRAMS."""
    found = dict(zip(latencies, packed, strict=True))
    return tuple(Histogram.merged([found[name] or b""]) if name in latencies else Histogram() for name in HISTOGRAMS)
