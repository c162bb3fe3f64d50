"""Marks on sources."""

from __future__ import annotations

from apps.ingest.models import Source


def mark_recording(*, scope: str, name: str) -> int:
    """Say that what this source sends is replayed, not live; the number of sources marked."""
    return Source.objects.filter(scope=scope, name=name, recording=False).update(recording=True)
