"""The request log as numpy columns: what folding an hour reads, without a Python object a row."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from apps.core.pgcolumns import POSTGRES_EPOCH_US, Int8Array, fetch_columns
from apps.core.time import Window
from apps.core.vocabulary import Status
from apps.ingest.domain.identity import NO_KEY

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Int16 = npt.NDArray[np.int16]
Int8 = npt.NDArray[np.int8]

NO_TIME = int(np.iinfo(np.int64).min)
"""In a column of times: not known."""
NO_COUNT = -1
"""In a column of counts or lengths: not known."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestColumns:
    """Attempts as parallel columns, all of shape (n,), in no particular order. Times are µs since 1970 (UTC)."""

    started_us: Int64
    ended_us: Int64  # NO_TIME
    first_token_us: Int64  # NO_TIME
    call_key: Int64  # NO_KEY
    task_key: Int64  # NO_KEY
    queue_us: Int64  # NO_COUNT
    label_id: Int32
    input_tokens: Int32  # NO_COUNT, as all tokens
    cache_read_tokens: Int32
    cache_write_tokens: Int32
    output_tokens: Int32
    reasoning_tokens: Int32
    attempt: Int16  # NO_COUNT
    status: Int8
    traffic: Int8
    stream: Int8  # 0 no, 1 yes, 2 unknown

    def __len__(self) -> int:
        return len(self.started_us)

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> RequestColumns:
        """These rows only."""
        return RequestColumns(*(getattr(self, field.name)[rows] for field in fields(self)))


_COLUMNS = f"""
SELECT
    string_agg(timestamptz_send(started), ''),
    string_agg(timestamptz_send(coalesce(ended, '-infinity')), ''),
    string_agg(timestamptz_send(coalesce(first_token, '-infinity')), ''),
    string_agg(int8send(coalesce(call_key, {NO_KEY})), ''),
    string_agg(int8send(coalesce(task_key, {NO_KEY})), ''),
    string_agg(int8send(coalesce(queue_us, -1)), ''),
    string_agg(int4send(label_id), ''),
    string_agg(int4send(coalesce(input_tokens, -1)), ''),
    string_agg(int4send(coalesce(cache_read_tokens, -1)), ''),
    string_agg(int4send(coalesce(cache_write_tokens, -1)), ''),
    string_agg(int4send(coalesce(output_tokens, -1)), ''),
    string_agg(int4send(coalesce(reasoning_tokens, -1)), ''),
    string_agg(int4send((coalesce(attempt, -1::smallint)::int << 16)
        | (status::int << 8) | (traffic::int << 4) | coalesce(stream::int, 2)), '')
FROM ingest_request
WHERE started >= %(since)s AND started < %(end)s AND (started >= %(start)s OR ended > %(start)s)
"""
_DTYPES = [">i8"] * 6 + [">i4"] * 7

_SINCE = """
SELECT min(hour) FROM ingest_arrivalhour
WHERE hour < %(start)s AND hour + interval '1 hour' + longest_us * interval '1 microsecond' > %(start)s
"""


def request_columns(
    window: Window, call_keys: Int64 | None = None, *, failed_calls_only: bool = False
) -> RequestColumns:
    """The requests that overlap the window, also those that started before it.

    `call_keys` keeps only those calls, `failed_calls_only` attempts of calls that did not end well. A request without
    an end belongs to its start.
    """
    parameters: dict[str, Any] = {"start": window.start, "end": window.end}
    query = _COLUMNS
    if call_keys is not None:
        query += " AND call_key = ANY(%(calls)s)"
        parameters["calls"] = Int8Array(call_keys)
    if failed_calls_only:
        query += f" AND status <> {Status.OK:d} AND call_key IS NOT NULL"
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, parameters)
        since: datetime | None = cursor.fetchone()[0]
    parameters["since"] = since or window.start
    *columns, packed = fetch_columns(connection.connection, query, parameters, _DTYPES)
    started, ended, first_token, call, task, queue, label, given, cache_read, cache_write, output, reasoning = columns
    return RequestColumns(
        _since_1970(started),
        _since_1970(ended),
        _since_1970(first_token),
        call,
        task,
        queue,
        label,
        given,
        cache_read,
        cache_write,
        output,
        reasoning,
        (packed >> 16).astype(np.int16),
        ((packed >> 8) & 0xFF).astype(np.int8),
        ((packed >> 4) & 0xF).astype(np.int8),
        (packed & 0xF).astype(np.int8),
    )


def _since_1970(column: Int64) -> Int64:
    return np.where(column == NO_TIME, NO_TIME, column + POSTGRES_EPOCH_US)
