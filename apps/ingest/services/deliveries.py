"""What every delivery leaves behind beside its records: counters, and the rejected ones with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import connection
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from apps.ingest.domain.identity import identity128
from apps.ingest.domain.records import Rejected
from apps.ingest.models import Batch, Reject, Source


def keep_rejected(source_id: int, batch_id: int, what: str, rejected: list[Rejected], now: datetime) -> None:
    """Keep rejected records, so that they can be seen, fixed and sent again. To be called inside a transaction.

    One that is kept already, because its delivery is retried, only gets the newer time and place; fixed or discarded,
    it stays so.
    """
    rows: dict[UUID, dict[str, object]] = {}
    for one in rejected:
        row = _kept_row(one)
        rows.setdefault(_digest(source_id, what, row, one.position), row | {"position": one.position})
    if not rows:
        return
    ordered = [{"digest": str(digest)} | row for digest, row in rows.items()]
    # Two deliveries of one source in turn: they may hold the same records in different orders.
    Source.objects.select_for_update(no_key=True).get(pk=source_id)
    with connection.cursor() as cursor:
        for start in range(0, len(ordered), _KEPT_TOGETHER):
            # As one JSON text: psycopg writes an array element by element.
            text = msgspec.json.encode(ordered[start : start + _KEPT_TOGETHER]).decode()
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


def _kept_row(rejected: Rejected) -> dict[str, object]:
    first = rejected.problems[0]
    return {
        "code": first.code,
        "field": _storable(first.field[:200]),
        "message": told(rejected),
        "payload": rejected.payload,
    }


def _digest(source_id: int, what: str, row: Mapping[str, object], position: int) -> UUID:
    """Where nothing of a record could be kept, its place and what was said of it stand for it."""
    parts = [source_id, what, row["code"], row["payload"]]
    if row["payload"] in ("", "{}"):
        parts += [position, row["message"]]
    return UUID(bytes=identity128(*parts))


def _storable(text: str) -> str:
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
