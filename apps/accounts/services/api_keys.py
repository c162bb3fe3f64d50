"""Creates, checks and revokes API keys. The secret exists only in the answer of `create_key`."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from apps.accounts.domain.keys import ALPHABET, PREFIX_LENGTH, SECRET_LENGTH, assembled, digest_of, prefix_of
from apps.accounts.models import ApiKey, Scope
from apps.accounts.services.audit import record, team_slugs
from apps.core.errors import InvalidInput, Problem

USE_IS_NOTED_EVERY = timedelta(minutes=1)
_NO_DIGEST = "0" * 64


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """A key that was presented and is good. `teams` None: all teams."""

    id: int
    prefix: str
    name: str
    scopes: frozenset[str]
    teams: frozenset[int] | None


def create_key(
    *,
    name: str,
    scopes: Iterable[str],
    teams: Iterable[int] | None = None,
    user: User | None = None,
    actor: str = "",
) -> tuple[ApiKey, str]:
    """A new key and its secret, which nobody can see again. `teams` None: all teams.

    Raises InvalidInput without a name, without a scope, with an unknown scope, or with an empty list of teams.
    """
    wanted = sorted(set(scopes))
    team_ids = None if teams is None else sorted(set(teams))
    if problems := _problems(name, wanted, team_ids):
        raise InvalidInput(problems)
    prefix, secret = _random(PREFIX_LENGTH), _random(SECRET_LENGTH)
    key = assembled(prefix, secret)
    with transaction.atomic():
        row = ApiKey.objects.create(
            name=name.strip(), prefix=prefix, digest=digest_of(key), scopes=wanted, teams=team_ids, created_by=user
        )
        record(
            user=user,
            actor=actor,
            action="api_key.create",
            subject=f"API key {row.name} ({prefix})",
            detail={"scopes": wanted, "teams": team_slugs(team_ids)},
        )
    return row, key


def _problems(name: str, scopes: list[str], teams: list[int] | None) -> list[Problem]:
    problems = []
    if not 0 < len(name.strip()) <= 200:
        problems.append(Problem("missing", "give the key a name of up to 200 characters", "name"))
    if not scopes:
        problems.append(Problem("missing", f"give at least one of {', '.join(Scope.values)}", "scopes"))
    if unknown := sorted(set(scopes) - set(Scope.values)):
        problems.append(Problem("unknown", f"{', '.join(unknown)}: use {', '.join(Scope.values)}", "scopes"))
    if teams == []:
        problems.append(Problem("missing", "name a team, or do not limit the key", "teams"))
    return problems


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def authenticate_key(raw: str, *, now: datetime | None = None) -> KeyHolder | None:
    """Who holds this key; None for a key that is malformed, unknown, wrong or revoked."""
    prefix = prefix_of(raw)
    if prefix is None:
        return None
    key = ApiKey.objects.filter(prefix=prefix).first()
    right = hmac.compare_digest(key.digest if key else _NO_DIGEST, digest_of(raw))
    if key is None or not right or key.revoked_at is not None:
        return None
    _note_use(key, now or timezone.now())
    return KeyHolder(
        id=key.pk,
        prefix=key.prefix,
        name=key.name,
        scopes=frozenset(key.scopes),
        teams=None if key.teams is None else frozenset(key.teams),
    )


def _note_use(key: ApiKey, now: datetime) -> None:
    stale = now - USE_IS_NOTED_EVERY
    if key.last_used_at is not None and key.last_used_at > stale:
        return
    unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=stale)
    ApiKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)


def revoke_key(*, key_id: int, user: User | None = None, actor: str = "", now: datetime | None = None) -> bool:
    """Make a key useless from now on. False where there is no such key that still works."""
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().filter(pk=key_id, revoked_at__isnull=True).first()
        if key is None:
            return False
        key.revoked_at = now or timezone.now()
        key.save(update_fields=["revoked_at"])
        record(user=user, actor=actor, action="api_key.revoke", subject=f"API key {key.name} ({key.prefix})")
    return True
