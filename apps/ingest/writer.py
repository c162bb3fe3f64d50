"""Valid records into the request log: COPY straight in, or by a staging table when some are there already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
import numpy as np
import psycopg
from django.db import IntegrityError, connection, transaction
from psycopg.errors import UniqueViolation

from apps.core.time import from_micros
from apps.ingest.arrivals import touch_hours
from apps.ingest.domain.copying import COLUMNS, copy_rows
from apps.ingest.domain.identity import identity128
from apps.ingest.domain.limits import HOUR_US
from apps.ingest.domain.records import LABELS, Ints, Label, Mask, Records
from apps.ingest.partitions import ensure_days

_NAMES = ", ".join(COLUMNS)


@dataclass(slots=True)
class Writer:
    """Writes chunks of one delivery. To be called inside a transaction, whose commit makes a chunk durable.

    It tries COPY straight into the log, since nearly everything is new; once it has met a duplicate it goes by the
    staging table until a chunk comes without one.
    """

    source_id: int
    batch_id: int
    expect_duplicates: bool = False

    def write(self, records: Records, now: datetime) -> Mask:
        """Store the records (no two with one identity); which of them were new, shape (n,)."""
        label_ids = _label_ids(self.source_id, records.labels)
        name_tasks(records.task_names)
        blocks = list(copy_rows(records, label_ids, self.batch_id))
        new = None if self.expect_duplicates else _copied(blocks, len(records))
        if new is None:
            new = _staged(blocks, records)
        self.expect_duplicates = not new.all()
        touch_hours(versions=touched_hours(records.take(new)), now=now)
        return new


def ensure_partitions(records: Records) -> None:
    """The day partitions that these records need, committed on their own so that nobody waits for a chunk."""
    days = np.unique(records.numbers["started_us"] // (24 * HOUR_US)).astype(np.int64)
    ensure_days("ingest_request", [from_micros(day * 24 * HOUR_US).date() for day in days.tolist()])


def touched_hours(records: Records) -> dict[datetime, tuple[int, int]]:
    """Hour -> (records that start in it, the longest of them in µs), for every hour that a record lies in."""
    started = records.numbers["started_us"].astype(np.int64)
    ended = np.where(np.isnan(records.numbers["ended_us"]), started, records.numbers["ended_us"]).astype(np.int64)
    first, last = started // HOUR_US, ended // HOUR_US
    hours, place, counts = np.unique(first, return_inverse=True, return_counts=True)
    longest = np.zeros(len(hours), dtype=np.int64)
    np.maximum.at(longest, place, ended - started)
    touched = {int(hour): (int(n), int(us)) for hour, n, us in zip(hours, counts, longest, strict=True)}
    spans = np.unique(np.stack([first, last])[:, last > first], axis=1)
    for begin, end in spans.T.tolist():
        for hour in range(begin + 1, end + 1):
            touched.setdefault(hour, (0, 0))
    return {from_micros(hour * HOUR_US): counted for hour, counted in touched.items()}


def _copy(cursor: Any, table: str, blocks: Iterable[bytes]) -> None:
    with cursor.copy(f"COPY {table} ({_NAMES}) FROM STDIN (FORMAT binary)") as copy:
        for block in blocks:
            copy.write(block)


def _copied(blocks: list[bytes], n: int) -> Mask | None:
    """COPY into the log; None, and nothing written, when a record is there already."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            _copy(cursor, "ingest_request", blocks)
    except (IntegrityError, UniqueViolation) as error:
        if not isinstance(error, UniqueViolation) and not isinstance(error.__cause__, UniqueViolation):
            raise
        return None
    return np.ones(n, dtype=np.bool_)


def _staged(blocks: list[bytes], records: Records) -> Mask:
    """COPY into a staging table, and from there what is not in the log yet."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE IF NOT EXISTS ingest_staged (LIKE ingest_request) ON COMMIT DELETE ROWS")
        cursor.execute("TRUNCATE ingest_staged")
        _copy(cursor, "ingest_staged", blocks)
        cursor.execute(
            f"INSERT INTO ingest_request ({_NAMES}) SELECT {_NAMES} FROM ingest_staged ORDER BY started, identity "
            "ON CONFLICT DO NOTHING RETURNING identity"
        )
        stored = b"".join(cast(UUID, identity).bytes for (identity,) in cursor.fetchall())
    # As texts of 16 bytes they can be compared; numpy's void cannot.
    return np.isin(records.identity.view("S16"), np.frombuffer(stored, dtype="S16"))


def _label_ids(source_id: int, labels: list[Label]) -> Ints:
    """Database ids of label sets, created where missing. In order of digest, so that two writers never deadlock."""
    texts = [tuple(text or "" for text in label) for label in labels]
    digests = [UUID(bytes=identity128(source_id, *label)) for label in texts]
    rows = dict(sorted(zip(digests, texts, strict=True)))
    with connection.cursor() as cursor:
        ids = _known_labels(cursor, list(rows))
        missing = [digest for digest in rows if digest not in ids]
        if missing:
            columns = [[rows[digest][place] for digest in missing] for place in range(len(LABELS))]
            names, kinds = ", ".join(LABELS), ", ".join(["%s::text[]"] * len(LABELS))
            cursor.execute(
                f"INSERT INTO ingest_labelset (digest, source_id, {names}) "
                f"SELECT digest, %s, {names} FROM unnest(%s::uuid[], {kinds}) AS new (digest, {names}) "
                "ON CONFLICT (digest) DO NOTHING",
                [source_id, missing, *columns],
            )
            ids |= _known_labels(cursor, missing)
    return np.array([ids[digest] for digest in digests], dtype=np.int64)


def _known_labels(cursor: Any, digests: list[UUID]) -> dict[UUID, int]:
    cursor.execute("SELECT digest, id FROM ingest_labelset WHERE digest = ANY(%s)", [digests])
    return dict(cursor.fetchall())


def name_tasks(names: dict[int, str]) -> None:
    """Remember the texts of task ids. In order of key, so that two writers never deadlock."""
    if not names:
        return
    with connection.cursor() as cursor:
        # As one JSON text: psycopg writes an array element by element.
        cursor.execute(
            "INSERT INTO ingest_taskname (task_key, task_id) "
            "SELECT key::bigint, value FROM json_each_text(%s::json) "
            "ORDER BY 1 ON CONFLICT DO NOTHING",
            [msgspec.json.encode(names).decode()],
        )


RETRIED = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.CheckViolation,
)
"""Failures of a chunk that pass: two writers in each other's way, or a day's partition dropped in between."""
