"""Writes the audit trail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from apps.accounts.models import AuditEvent
from apps.catalog import selectors as catalog


def record(
    *,
    user: AbstractBaseUser | AnonymousUser | None,
    actor: str = "",
    action: str,
    subject: str,
    detail: Mapping[str, object] | None = None,
) -> None:
    """Note who did what. `actor` defaults to the user's name; commands give theirs. Secrets never go into `detail`."""
    known = user if isinstance(user, User) else None
    AuditEvent.objects.create(
        user=known,
        actor=(actor or (known.username if known else "unknown"))[:200],
        action=action[:60],
        subject=subject[:300],
        detail=dict(detail or {}),
    )


def auditor(
    *, user: AbstractBaseUser | AnonymousUser | None, actor: str = ""
) -> Callable[[str, str, dict[str, object]], None]:
    """A callback for rooms below that cannot see this one: (action, subject, detail) goes to the trail."""

    def note(action: str, subject: str, detail: dict[str, object]) -> None:
        record(user=user, actor=actor, action=action, subject=subject, detail=detail)

    return note


def team_slugs(team_ids: Iterable[int] | None) -> list[str] | str:
    """Teams as the trail names them: ids would say nothing to a reader, or to anybody after a merge."""
    if team_ids is None:
        return "all"
    names = catalog.names("team")
    return [names[team_id].slug for team_id in team_ids]
