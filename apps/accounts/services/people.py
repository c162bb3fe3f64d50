"""Creates people, gives them roles and teams, sets passwords."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Q

from apps.accounts.models import ApiKey, Membership, Role
from apps.accounts.services.audit import record, team_slugs
from apps.core.errors import InvalidInput, Problem

FIRST_ADMIN = "admin"
_LOCK = 0x696E66_61636374  # "inf acct"


@dataclass(frozen=True, slots=True)
class FirstAdmin:
    """`created` False: somebody can administer already, and no password is told."""

    username: str
    password: str | None
    created: bool


def generated_password() -> str:
    """About 120 bits, to be typed once."""
    return secrets.token_urlsafe(15)


def _take_lock() -> None:
    # "Is there still an admin?" must be answered with nobody else changing the answer.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _admins() -> Q:
    return Q(is_active=True) & (Q(is_superuser=True) | Q(membership__role=Role.ADMIN))


def ensure_first_admin(*, password: str | None) -> FirstAdmin:
    """Somebody who can administer: who there is, or a new user with this password (None: a generated one)."""
    with transaction.atomic():
        _take_lock()
        present = User.objects.filter(_admins()).order_by("id").first()
        if present is not None:
            return FirstAdmin(present.username, None, created=False)
        username, number = FIRST_ADMIN, 1
        while User.objects.filter(username=username).exists():
            number += 1
            username = f"{FIRST_ADMIN}{number}"
        chosen = password or generated_password()
        user = User.objects.create_user(username=username, password=chosen)
        Membership.objects.create(user=user, role=Role.ADMIN)
        record(user=None, actor="first start", action="person.create", subject=username, detail={"role": Role.ADMIN})
    return FirstAdmin(username, chosen, created=True)


def create_person(
    *, username: str, password: str, role: str, teams: Iterable[int] = (), by: User | None = None, actor: str = ""
) -> User:
    """A new user. Raises InvalidInput for a taken or bad name, a weak password, or a lead without a team."""
    username, team_ids = username.strip(), sorted(set(teams))
    user = User(username=username)
    problems = [*_name_problems(user), *_role_problems(role, team_ids), *_password_problems(password, user)]
    if problems:
        raise InvalidInput(problems)
    with transaction.atomic():
        user.set_password(password)
        user.save()
        Membership.objects.create(user=user, role=role, teams=team_ids if role == Role.LEAD else [])
        record(
            user=by,
            actor=actor,
            action="person.create",
            subject=username,
            detail={"role": role, "teams": team_slugs(team_ids)},
        )
    return user


def _name_problems(user: User) -> list[Problem]:
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        return [Problem("invalid", " ".join(error.messages), "username")]
    if User.objects.filter(username__iexact=user.username).exists():
        return [Problem("taken", "this name is taken", "username")]
    return []


def _role_problems(role: str, teams: list[int]) -> list[Problem]:
    if role not in Role.values:
        return [Problem("unknown", f"use one of {', '.join(Role.values)}", "role")]
    if role == Role.LEAD and not teams:
        return [Problem("missing", "a lead needs at least one team", "teams")]
    return []


def _password_problems(password: str, user: User) -> list[Problem]:
    try:
        validate_password(password, user)
    except ValidationError as error:
        return [Problem("weak", " ".join(error.messages), "password")]
    return []


def change_person(
    *, user_id: int, role: str, teams: Iterable[int], active: bool, by: User | None = None, actor: str = ""
) -> None:
    """Set role, teams and whether the person may sign in. Raises InvalidInput where no admin would be left."""
    team_ids = sorted(set(teams))
    if problems := _role_problems(role, team_ids):
        raise InvalidInput(problems)
    with transaction.atomic():
        _take_lock()
        user = _known(user_id)
        others = User.objects.filter(_admins()).exclude(pk=user_id)
        if not (active and role == Role.ADMIN) and not others.exists():
            raise InvalidInput(Problem("last_admin", "somebody must be able to administer: make another admin first"))
        if user.is_active != active or user.is_superuser != (user.is_superuser and role == Role.ADMIN):
            user.is_active, user.is_superuser = active, user.is_superuser and role == Role.ADMIN
            user.save(update_fields=["is_active", "is_superuser"])
        kept = team_ids if role == Role.LEAD else []
        Membership.objects.update_or_create(user=user, defaults={"role": role, "teams": kept})
        detail: dict[str, object] = {"role": role, "teams": team_slugs(kept), "active": active}
        record(user=by, actor=actor, action="person.change", subject=user.username, detail=detail)


def set_password(*, user_id: int, password: str, by: User | None = None, actor: str = "") -> None:
    """Give a person a new password; every session of theirs ends. Raises InvalidInput for a weak one."""
    user = _known(user_id)
    if problems := _password_problems(password, user):
        raise InvalidInput(problems)
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        record(user=by, actor=actor, action="person.password", subject=user.username)


def replace_team(*, old_id: int, new_id: int) -> None:
    """Follow a merge of two teams in the catalog: who leads the old one leads the new one, and keys read it."""
    memberships: list[Membership | ApiKey] = list(Membership.objects.filter(teams__contains=[old_id]))
    for row in [*memberships, *ApiKey.objects.filter(teams__contains=[old_id])]:
        row.teams = sorted({new_id if team == old_id else team for team in row.teams or []})
        row.save(update_fields=["teams"])


def _known(user_id: int) -> User:
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise InvalidInput(Problem("unknown", "there is no such person"))
    return user
