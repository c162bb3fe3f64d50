"""Events of the audit trail, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apps.accounts.selectors import AuditRow

PAGE = 50

_WORDS = {
    "catalog.create": "created",
    "catalog.change": "changed",
    "catalog.claim": "claimed",
    "catalog.merge": "merged",
    "catalog.alias": "pointed a label",
    "catalog.price": "set a price",
    "catalog.remove": "removed",
    "api_key.create": "created",
    "api_key.revoke": "revoked",
    "person.create": "added a person",
    "person.change": "changed a person",
    "person.password": "set a password",
    "sign_in": "signed in",
}


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    actor: str
    what: str
    subject: str
    lines: tuple[str, ...]


def events(rows: Iterable[AuditRow]) -> list[Event]:
    return [Event(r.at, r.actor, _WORDS.get(r.action, r.action), r.subject, _lines(r.detail)) for r in rows]


def before(value: str) -> int | None:
    """The id in an address after which a page of events goes on; None for anything else."""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 18 else None


def _lines(detail: dict[str, object]) -> tuple[str, ...]:
    details = detail.get("details")
    if isinstance(details, list):
        return tuple(str(line) for line in details)
    return tuple(f"{name}: {_words(value)}" for name, value in detail.items() if value not in (None, [], ""))


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
