"""Every write of the catalog, one after the other: the lock, its steps, what it changes in history, who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection, transaction

from apps.catalog.domain.difference import Difference, Merge, Step, Verb
from apps.catalog.models import Change

Audit = Callable[[str, str, dict[str, object]], None]
"""Called inside the transaction with (action, subject, detail); the audit trail lives in a room above this one."""

_LOCK = 0x696E66_636174  # "inf cat"


def no_audit(action: str, subject: str, detail: dict[str, object]) -> None:
    """For writes that nobody keeps: dry runs."""


def take_lock() -> None:
    """Held to the end of the transaction.

    Writers in turn give change ids in the order in which they become visible: a reader that has seen number n will
    never meet a smaller one later.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


@dataclass(slots=True)
class Journal:
    """Collects what one write does, and stores the changes at the end: one for each distinct span."""

    audit: Audit
    actor: str = ""
    steps: list[Step] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    _spans: dict[tuple[str, datetime | None, datetime | None], list[str]] = field(default_factory=dict)

    def note(self, verb: Verb, subject: str, *details: str) -> None:
        """One step, for the difference and for the audit trail."""
        self.steps.append(Step(verb, subject, details))
        self.audit(f"catalog.{verb}", subject, {"details": list(details)} if details else {})

    def merged(self, kind: str, old_id: int, new_id: int) -> None:
        self.merges.append(Merge(kind, old_id, new_id))

    def labels_change(self, since: datetime | None, until: datetime | None, reason: str) -> None:
        """Labels resolve, or replicas hold their GPUs, differently in [since, until): fold again."""
        self._change(Change.What.LABELS, since, until, reason)

    def prices_change(self, since: datetime | None, until: datetime | None, reason: str) -> None:
        """Money comes out differently in [since, until): attribute again."""
        self._change(Change.What.PRICES, since, until, reason)

    def _change(self, what: str, since: datetime | None, until: datetime | None, reason: str) -> None:
        if since is not None and until is not None and since >= until:
            return
        self._spans.setdefault((what, since, until), []).append(reason)

    def spans(self, what: str) -> Iterator[tuple[datetime | None, datetime | None]]:
        """The spans of the changes of one sort, in the order in which they were noted."""
        return ((since, until) for kind, since, until in self._spans if kind == what)

    def store(self) -> None:
        Change.objects.bulk_create(
            Change(what=what, affects_from=since, affects_until=until, reason=self._reason(reasons))
            for (what, since, until), reasons in self._spans.items()
        )

    def _reason(self, reasons: list[str]) -> str:
        text = reasons[0] if len(reasons) == 1 else f"{reasons[0]} (and {len(reasons) - 1} more)"
        text = f"{text}, by {self.actor}" if self.actor else text
        return text if len(text) <= 300 else f"{text[:299]}…"

    def difference(self, omitted: tuple[str, ...] = ()) -> Difference:
        return Difference(tuple(self.steps), omitted, tuple(self.merges))


@contextmanager
def writing(audit: Audit, *, actor: str = "", dry_run: bool = False) -> Iterator[Journal]:
    """One serialised transaction; its changes are stored when the block ends without an error.

    A dry run does the same writes and takes them back, so that what it shows is what would be done.
    """
    with transaction.atomic():
        take_lock()
        journal = Journal(no_audit if dry_run else audit, actor)
        yield journal
        journal.store()
        if dry_run:
            transaction.set_rollback(True)
