"""What every delivery leaves behind beside its records: counters, and the rejected ones with their reasons."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from django.db import connection
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from apps.core.errors import InvalidInput, Problem
from apps.ingest.domain.answers import BatchAnswer
from apps.ingest.domain.identity import identity128
from apps.ingest.domain.records import Rejected
from apps.ingest.models import Batch, Reject, Source

Progress = Callable[[BatchAnswer, int], None]
"""Told the answer so far and the bytes read since the last time."""


def not_read(stopped: InvalidInput, answer: BatchAnswer) -> InvalidInput:
    """What to say of a delivery whose rest was not read."""
    problem = stopped.problems[0]
    told = (
        f"the rest of the body was not read, since {problem.message}: {answer.stored:,} of its records are stored, "
        f"{answer.duplicate:,} were there already, {answer.rejected:,} were rejected"
    )
    return InvalidInput(Problem(problem.code, told))


def keep_rejected(source_id: int, batch_id: int, what: str, rejected: list[Rejected], now: datetime) -> None:
    """Keep rejected records, so that they can be seen, fixed and sent again. To be called inside a transaction.

    One that is kept already, because its delivery is retried, only gets the newer time and place; fixed or discarded,
    it stays so.
    """
    once: dict[str, _Kept] = {}
    for one in rejected:
        kept = _kept(source_id, what, one)
        once.setdefault(kept.digest, kept)
    rows = list(once.values())
    if not rows:
        return
    # Two deliveries of one source in turn: they may hold the same records in different orders.
    Source.objects.select_for_update(no_key=True).get(pk=source_id)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), _KEPT_TOGETHER):
            # As one JSON text: psycopg writes an array element by element.
            text = msgspec.json.encode(rows[start : start + _KEPT_TOGETHER]).decode()
            cursor.execute(_KEEP, [source_id, batch_id, now, what, Reject.State.OPEN.value, text])


_KEPT_TOGETHER = 1_000
_KEEP = """
INSERT INTO ingest_reject
    (source_id, batch_id, received_at, what, state, digest, position, code, field, message, payload)
SELECT %s, %s, %s, %s, %s, digest, position, code, field, message, payload
FROM json_to_recordset(%s::json)
    AS new (digest uuid, position integer, code text, field text, message text, payload text)
ON CONFLICT (digest) DO UPDATE
SET received_at = excluded.received_at, batch_id = excluded.batch_id, position = excluded.position
WHERE ingest_reject.received_at <= excluded.received_at
"""


class _Kept(msgspec.Struct, gc=False):
    """The part of a row that differs from one rejected record to the next."""

    digest: str
    position: int
    code: str
    field: str
    message: str
    payload: str


def _kept(source_id: int, what: str, rejected: Rejected) -> _Kept:
    """Where nothing of a record could be kept, its place and what was said of it stand for it in the digest."""
    first, message = rejected.problems[0], told(rejected)
    parts: tuple[object, ...] = (source_id, what, first.code, rejected.payload)
    if rejected.payload in ("", "{}"):
        parts += (rejected.position, message)
    digest = identity128(*parts).hex()
    return _Kept(digest, rejected.position, first.code, _storable(first.field[:200]), message, rejected.payload)


def _storable(text: str) -> str:
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def told(rejected: Rejected) -> str:
    """All problems of a record in words, one a line."""
    lines = [
        f"{problem.field}: {problem.message}" if problem.field else problem.message for problem in rejected.problems
    ]
    return _storable("\n".join(lines))


def count_delivery(
    source_id: int,
    batch_id: int,
    *,
    now: datetime,
    newest: datetime | None,
    size: int,
    counts: tuple[int, int, int],
) -> None:
    """Add (stored, duplicate, rejected) to the counters of batch and source."""
    stored, duplicate, rejected = counts
    Batch.objects.filter(pk=batch_id).update(
        bytes=F("bytes") + size,
        stored=F("stored") + stored,
        duplicate=F("duplicate") + duplicate,
        rejected=F("rejected") + rejected,
    )
    seen: dict[str, object] = {"last_seen_at": Greatest(Coalesce("last_seen_at", now), now)}
    if newest is not None:
        seen["last_event_at"] = Greatest(Coalesce("last_event_at", newest), newest)
    Source.objects.filter(pk=source_id).update(
        records=F("records") + stored, duplicates=F("duplicates") + duplicate, rejected=F("rejected") + rejected, **seen
    )
