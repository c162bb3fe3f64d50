"""Reads of people, keys and the audit trail: tables in, frozen dataclasses out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q

from apps.accounts.domain.roles import NOBODY, Viewer
from apps.accounts.models import ApiKey, AuditEvent, Membership, Role

__all__ = ["ApiKeyRow", "AuditRow", "Person", "Viewer", "api_keys", "audit_trail", "people", "person", "viewer"]


@dataclass(frozen=True, slots=True)
class Person:
    id: int
    username: str
    role: str
    teams: frozenset[int]
    active: bool
    last_login: datetime | None


@dataclass(frozen=True, slots=True)
class ApiKeyRow:
    """A key without its secret. `teams` None: all."""

    id: int
    name: str
    prefix: str
    scopes: tuple[str, ...]
    teams: frozenset[int] | None
    created_by: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class AuditRow:
    id: int
    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, object]


def viewer(user: AbstractBaseUser | AnonymousUser) -> Viewer:
    """Role and team limit of a user. Inactive and anonymous users have no role; a superuser is an admin."""
    if not isinstance(user, User) or not user.is_active:
        return NOBODY
    if user.is_superuser:
        return Viewer(Role.ADMIN, None, user.pk, user.username)
    membership = Membership.objects.filter(user_id=user.pk).first()
    if membership is None:
        return Viewer("", frozenset(), user.pk, user.username)
    teams = frozenset(membership.teams) if membership.role == Role.LEAD else None
    return Viewer(membership.role, teams, user.pk, user.username)


def people() -> list[Person]:
    return [_person(user) for user in User.objects.select_related("membership").order_by("username")]


def person(user_id: int) -> Person | None:
    user = User.objects.select_related("membership").filter(pk=user_id).first()
    return _person(user) if user else None


def _person(user: User) -> Person:
    membership: Membership | None = getattr(user, "membership", None)
    role = Role.ADMIN if user.is_superuser else membership.role if membership else ""
    teams = frozenset(membership.teams) if membership else frozenset()
    return Person(user.pk, user.username, str(role), teams, user.is_active, user.last_login)


def api_keys() -> list[ApiKeyRow]:
    """Newest first, revoked ones too."""
    return [
        ApiKeyRow(
            id=key.pk,
            name=key.name,
            prefix=key.prefix,
            scopes=tuple(key.scopes),
            teams=None if key.teams is None else frozenset(key.teams),
            created_by=key.created_by.username if key.created_by else "",
            created_at=key.created_at,
            last_used_at=key.last_used_at,
            revoked_at=key.revoked_at,
        )
        for key in ApiKey.objects.select_related("created_by").order_by("-created_at", "-id")
    ]


def audit_trail(
    *, limit: int = 50, before_id: int | None = None, subject: str | None = None, action: str | None = None
) -> list[AuditRow]:
    """Newest first. `before_id` is the last id of the page before; `subject` keeps events that name it, `action` those
    whose action begins so."""
    events = AuditEvent.objects.order_by("-id")
    if before_id is not None:
        events = events.filter(id__lt=before_id)
    if subject is not None:
        events = events.filter(Q(subject=subject) | Q(subject__endswith=f" {subject}"))
    if action is not None:
        events = events.filter(action__startswith=action)
    return [AuditRow(e.pk, e.at, e.actor, e.action, e.subject, e.detail) for e in events[:limit]]
