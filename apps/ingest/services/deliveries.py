"""What every delivery leaves behind beside its records: counters, and the rejected ones with their reasons."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from apps.ingest.domain.records import Rejected
from apps.ingest.models import Batch, Reject, Source


def keep_rejected(source_id: int, batch_id: int, what: str, rejected: list[Rejected], now: datetime) -> None:
    """Keep rejected records, so that they can be seen, fixed and sent again."""
    Reject.objects.bulk_create(
        [
            Reject(
                source_id=source_id,
                batch_id=batch_id,
                position=one.position,
                received_at=now,
                what=what,
                code=one.problems[0].code,
                field=one.problems[0].field[:200],
                message=told(one),
                payload=one.payload,
            )
            for one in rejected
        ],
        batch_size=1_000,
    )


def told(rejected: Rejected) -> str:
    """All problems of a record in words, one a line."""
    lines = [
        f"{problem.field}: {problem.message}" if problem.field else problem.message for problem in rejected.problems
    ]
    return "\n".join(lines).replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


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
