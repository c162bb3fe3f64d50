"""Checks a name and a password, and slows down whoever guesses."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.utils import timezone

from apps.accounts.domain.guessing import WINDOW, too_many
from apps.accounts.models import SignInFailure
from apps.accounts.services.audit import record


@dataclass(frozen=True, slots=True)
class SignIn:
    """`user` None: refused; `wait` says whether that is because of too many tries."""

    user: User | None
    wait: bool = False


def try_sign_in(*, username: str, password: str, address: str, now: datetime | None = None) -> SignIn:
    """Who this is, if name and password are right and not too many tries failed before.

    The try is counted before the password is looked at, so that many at once cannot slip through together.
    """
    moment = now or timezone.now()
    SignInFailure.objects.filter(at__lte=moment - WINDOW).delete()
    name = hashlib.sha256(username.strip().lower().encode("utf-8", "replace")).hexdigest()
    this_try = SignInFailure.objects.create(name_digest=name, address=address[:64], at=moment)
    from_address = SignInFailure.objects.filter(address=this_try.address)
    of_name = from_address.filter(name_digest=name)
    if too_many(of_name_from_address=of_name.count(), from_address=from_address.count()):
        this_try.delete()  # so that waiting helps, whatever somebody else goes on trying
        return SignIn(None, wait=True)
    user = _authenticated(username, password)
    if user is None:
        return SignIn(None)
    of_name.delete()
    record(user=user, action="sign_in", subject=user.username)
    return SignIn(user)


def _authenticated(username: str, password: str) -> User | None:
    try:
        (username + password).encode()
    except UnicodeEncodeError:  # half a surrogate pair: no name or password of ours holds one
        return None
    if "\x00" in username:
        return None
    user = authenticate(username=username.strip(), password=password)
    return user if isinstance(user, User) else None
