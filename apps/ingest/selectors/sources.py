"""Who sends: each source with what became of what it sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.ingest.models import Source


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Counts are since the source was first seen; `last_event_at` is the newest time inside its records."""

    id: int
    name: str
    kind: str
    scope: str
    first_seen_at: datetime
    last_seen_at: datetime | None
    last_event_at: datetime | None
    records: int
    duplicates: int
    rejected: int
    recording: bool


def sources() -> list[SourceRow]:
    """Every source, by name and kind."""
    return [
        SourceRow(
            row.pk, row.name, row.kind, row.scope, row.first_seen_at, row.last_seen_at, row.last_event_at,
            row.records, row.duplicates, row.rejected, row.recording,
        )
        for row in Source.objects.order_by("name", "kind", "scope")
    ]  # fmt: skip
