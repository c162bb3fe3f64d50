"""Who calls: the API key or browser session of a request, turned into a Caller with scopes and a team limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from apps.accounts.domain.roles import Permission, Viewer
from apps.accounts.selectors import viewer
from apps.accounts.services import KeyHolder, authenticate_key

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module, as one of its default settings

CHALLENGE = 'Bearer realm="inferometer"'
_PERMITTED: tuple[tuple[str, Permission], ...] = (("read", "costs"), ("export", "exports"))
"""The scope that each permission of a signed-in person stands for. Nobody ingests from a browser."""


@dataclass(frozen=True, slots=True)
class Caller:
    """`teams` None means all. `key_prefix` is empty for a person."""

    name: str
    scopes: frozenset[str]
    teams: frozenset[int] | None
    key_prefix: str = ""

    @classmethod
    def of_key(cls, holder: KeyHolder) -> Caller:
        return cls(holder.name, frozenset(holder.scopes), holder.teams, holder.prefix)

    @classmethod
    def of_person(cls, person: Viewer) -> Caller:
        scopes = frozenset(scope for scope, permission in _PERMITTED if person.can(permission))
        return cls(person.name, scopes, person.teams)


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer ifm_…` or `X-API-Key: ifm_…`; a key that is presented must be good."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Caller] | None:
        raw = _presented(request)
        if raw is None:
            return None
        holder = authenticate_key(raw)
        if holder is None:
            raise AuthenticationFailed("this API key is wrong or has been revoked")
        return AnonymousUser(), Caller.of_key(holder)

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class ReadingSessionAuthentication(SessionAuthentication):
    """The session of a signed-in person, for reading only."""

    def authenticate(self, request: Request) -> tuple[object, Caller] | None:
        if request.method not in SAFE_METHODS:
            return None
        found = super().authenticate(request)
        if found is None:
            return None
        return found[0], Caller.of_person(viewer(found[0]))


class HasScope(BasePermission):
    """The caller has the scope that the view names."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        scope: str = view.required_scope  # type: ignore[attr-defined]
        self.message = f"this needs the scope '{scope}': give the key that scope, or use another key"
        return isinstance(request.auth, Caller) and scope in request.auth.scopes


def _presented(request: Request) -> str | None:
    scheme, _, credentials = request.headers.get("Authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    key = request.headers.get("X-API-Key")
    return key.strip() if key is not None else None
