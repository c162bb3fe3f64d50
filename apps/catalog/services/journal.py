"""Every write of the catalog, one after the other: the lock, the changes it makes to history, the audit callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection, transaction

from apps.catalog.models import Change

Audit = Callable[[str, str, dict[str, object]], None]
"""Called inside the transaction with (action, subject, detail); the audit trail lives in a room above this one."""

_LOCK = 0x696E66_636174  # "inf cat"


def no_audit(action: str, subject: str, detail: dict[str, object]) -> None:
    """For callers that have nobody to name, such as tests."""


def take_lock() -> None:
    """Held to the end of the transaction.

    Writers in turn give change ids in the order in which they become visible: a reader that has seen number n will
    never meet a smaller one later.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


@dataclass(slots=True)
class Journal:
    """Collects what one write does, and stores it at the end: one change for each distinct span."""

    audit: Audit
    _spans: dict[tuple[str, datetime | None, datetime | None], list[str]] = field(default_factory=dict)

    def labels(self, since: datetime | None, until: datetime | None, reason: str) -> None:
        """Labels resolve differently in [since, until): fold again."""
        self._note(Change.What.LABELS, since, until, reason)

    def prices(self, since: datetime | None, until: datetime | None, reason: str) -> None:
        """Money comes out differently in [since, until): attribute again."""
        self._note(Change.What.PRICES, since, until, reason)

    def _note(self, what: str, since: datetime | None, until: datetime | None, reason: str) -> None:
        if since is not None and until is not None and since >= until:
            return
        self._spans.setdefault((what, since, until), []).append(reason)

    def store(self) -> None:
        Change.objects.bulk_create(
            Change(what=what, affects_from=since, affects_until=until, reason=_shortened(reasons))
            for (what, since, until), reasons in self._spans.items()
        )


def _shortened(reasons: list[str]) -> str:
    text = reasons[0] if len(reasons) == 1 else f"{reasons[0]} (and {len(reasons) - 1} more)"
    return text if len(text) <= 300 else f"{text[:299]}…"


@contextmanager
def writing(audit: Audit) -> Iterator[Journal]:
    """One serialised transaction; its changes are stored when the block ends without an error."""
    with transaction.atomic():
        take_lock()
        journal = Journal(audit)
        yield journal
        journal.store()
