"""Deliveries of outcomes: decisions on tasks, every one kept, the same one twice stored once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from django.db import connection, transaction

from apps.core.time import to_micros
from apps.ingest.domain.answers import BatchAnswer, RecordAnswer, SourceRef
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.outcomes import Decided, read_outcomes
from apps.ingest.domain.records import Rejected
from apps.ingest.domain.splitting import Bytes
from apps.ingest.models import Batch, Source
from apps.ingest.services.deliveries import Progress, count_delivery, keep_rejected, not_read
from apps.ingest.writer import name_tasks

KIND = "outcomes"
_STORED_TOGETHER = 5_000
_STORE = """
INSERT INTO ingest_outcome
    (task_key, digest, decided_at, received_at, accepted, reworked, score, review_minutes, evaluator)
SELECT task_key, encode(decode(digest, 'base64'), 'hex')::uuid, decided_at, %s,
    accepted, reworked, score, review_minutes, evaluator
FROM json_to_recordset(%s::json)
    AS new (task_key bigint, digest text, decided_at timestamptz, accepted boolean, reworked boolean,
        score double precision, review_minutes numeric, evaluator text)
ON CONFLICT (digest) DO NOTHING RETURNING digest
"""


def ingest_outcomes(
    *,
    source: SourceRef,
    body: bytes | Iterable[Bytes],
    now: datetime,
    patient: bool = False,
    progress: Progress | None = None,
    keep_rejects: bool = True,
) -> BatchAnswer:
    """Store a body of outcomes in one transaction.

    Raises InvalidInput for a body that is bad as such, and for one whose rest was not read because too much of it is
    wrong: what was read is stored then, and `progress` has been told. A `patient` reader reads all.
    """
    blocks: Iterable[Bytes] = [body] if isinstance(body, bytes) else body
    sizes = Sizes().without_end() if patient else Sizes()
    decided, rejected, stopped = read_outcomes(blocks, source.scope, to_micros(now), sizes)
    row, _ = Source.objects.get_or_create(kind=KIND, name=source.name[:200], scope=source.scope[:64])
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = on")
        batch = Batch.objects.create(source=row, received_at=now, bytes=0, stored=0, duplicate=0, rejected=0)
        new = _store(decided, now)
        if keep_rejects:
            keep_rejected(row.pk, batch.pk, "outcome", rejected, now)
        count_delivery(
            row.pk,
            batch.pk,
            now=now,
            newest=max((one.decided_at for one in decided), default=None),
            size=len(body) if isinstance(body, bytes) else 0,
            counts=(len(new), len(decided) - len(new), len(rejected)),
        )
    answer = BatchAnswer(batch.pk, len(new), len(decided) - len(new), len(rejected), _results(decided, new, rejected))
    if progress:
        progress(answer, 0)
    if stopped:
        raise not_read(stopped, answer)
    return answer


def _store(decided: list[Decided], now: datetime) -> set[int]:
    """Store what is new; the positions of what was."""
    once: dict[bytes, Decided] = {}
    for one in decided:
        once.setdefault(one.digest, one)
    if not once:
        return set()
    name_tasks({one.task_key: one.task_id for one in decided})
    rows = [once[digest] for digest in sorted(once)]
    new: set[int] = set()
    with connection.cursor() as cursor:
        for start in range(0, len(rows), _STORED_TOGETHER):
            # As one JSON text, in which a digest is base64: psycopg writes an array element by element.
            cursor.execute(_STORE, [now, msgspec.json.encode(rows[start : start + _STORED_TOGETHER]).decode()])
            new.update(once[digest.bytes].position for (digest,) in cursor.fetchall())
    return new


def _results(decided: list[Decided], new: set[int], rejected: list[Rejected]) -> list[RecordAnswer]:
    told = [RecordAnswer(one.position, "stored" if one.position in new else "duplicate") for one in decided]
    told += [RecordAnswer(one.position, "rejected", one.problems) for one in rejected]
    return sorted(told, key=lambda answer: answer.record)
