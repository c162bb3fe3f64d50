"""Newest outcomes of tasks, as columns; and which tasks have got one since."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import psycopg
from django.db import OperationalError, connection, transaction

from apps.core.pgcolumns import Int8Array, fetch_columns

Int64 = npt.NDArray[np.int64]

_PATIENCE = "2s"


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeColumns:
    """The newest outcome of each task that has one: parallel columns of shape (n,), `task_key` ascending."""

    task_key: Int64
    accepted: npt.NDArray[np.bool_]
    reworked: npt.NDArray[np.bool_]
    review_minutes_e4: Int64  # × 10^4, exact


# All outcomes of the tasks, end to end in network order; the newest are chosen here rather than by a sort there.
_OF_TASKS = """
SELECT
    string_agg(int8send(o.task_key), ''),
    string_agg(timestamptz_send(o.decided_at), ''),
    string_agg(int8send(o.id), ''),
    string_agg(int8send((o.review_minutes * 10000)::bigint), ''),
    string_agg(int4send(o.accepted::int + 2 * o.reworked::int), '')
FROM unnest(%(keys)s) AS wanted (task_key) JOIN ingest_outcome o USING (task_key)
"""


def newest_outcomes(task_keys: Int64) -> OutcomeColumns:
    """The newest outcome (by `decided_at`, then by arrival) of those of the distinct `task_keys` that have one."""
    connection.ensure_connection()
    key, decided, outcome_id, minutes, flags = fetch_columns(
        connection.connection, _OF_TASKS, {"keys": Int8Array(task_keys)}, [">i8"] * 4 + [">i4"]
    )
    order = np.lexsort((outcome_id, decided, key))
    newest = order[np.append(key[order][1:] != key[order][:-1], True)] if len(order) else order
    return OutcomeColumns(
        key[newest], (flags[newest] & 1).astype(bool), (flags[newest] & 2).astype(bool), minutes[newest]
    )


def settled_outcome_id() -> int | None:
    """An id at or below which every outcome is visible, for good; None if writers keep it from being told just now.

    Ids are given before they are committed: only while nobody is writing is the greatest visible one also final.
    Must be called outside a transaction, which would keep writers waiting until its end.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
            cursor.execute("LOCK TABLE ingest_outcome IN SHARE MODE")
            cursor.execute("SELECT coalesce(max(id), 0) FROM ingest_outcome")
            return int(cursor.fetchone()[0])
    except OperationalError as problem:
        if isinstance(problem.__cause__, psycopg.errors.LockNotAvailable):
            return None
        raise


def tasks_decided(after_id: int, until_id: int) -> Int64:
    """Keys of the tasks that got an outcome with after_id < id <= until_id, ascending."""
    connection.ensure_connection()
    (keys,) = fetch_columns(
        connection.connection,
        "SELECT string_agg(int8send(task_key), '') FROM ingest_outcome WHERE id > %(after)s AND id <= %(until)s",
        {"after": after_id, "until": until_id},
        [">i8"],
    )
    return np.unique(keys)
