"""Records that could not be stored, with why, in pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.ingest.models import Reject

COUNTED = 10_000
"""Open rejects are counted up to this many and one more: nobody reads a larger number, and counting costs."""


@dataclass(frozen=True, slots=True)
class RejectRow:
    """`payload` is the record as it came, without bodies of prompts and answers; `position` its 0-based place."""

    id: int
    source: str
    batch_id: int
    position: int
    received_at: datetime
    what: str
    code: str
    field: str
    message: str
    payload: str
    state: str


def rejects(*, state: str | None = "open", before_id: int | None = None, limit: int = 50) -> list[RejectRow]:
    """Newest first; `before_id` is the last id of the page before; `state` None means any."""
    found = Reject.objects.select_related("source").order_by("-id")
    if state is not None:
        found = found.filter(state=state)
    if before_id is not None:
        found = found.filter(id__lt=before_id)
    return [_reject(row) for row in found[:limit]]


def reject(reject_id: int) -> RejectRow | None:
    row = Reject.objects.select_related("source").filter(pk=reject_id).first()
    return _reject(row) if row else None


def open_rejects() -> int:
    """How many wait to be fixed; COUNTED + 1 stands for more than COUNTED."""
    return Reject.objects.filter(state=Reject.State.OPEN)[: COUNTED + 1].count()


def _reject(row: Reject) -> RejectRow:
    return RejectRow(
        row.pk, row.source.name, row.batch_id, row.position, row.received_at, row.what, row.code, row.field,
        row.message, row.payload, row.state,
    )  # fmt: skip
