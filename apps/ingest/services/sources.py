"""Marks on sources."""

from __future__ import annotations

from collections.abc import Iterable

from apps.ingest.models import Source


def mark_recording(*, kinds: Iterable[str], name: str, scope: str) -> None:
    """Say that what this sender sends, or is going to send, is replayed and not live."""
    for kind in kinds:
        Source.objects.update_or_create(kind=kind, name=name, scope=scope, defaults={"recording": True})
