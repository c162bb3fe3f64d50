"""Turns an API key as sent into its prefix and digest: `ifm_<prefix>_<secret>`, of which only SHA-256 is kept."""

from __future__ import annotations

import hashlib
import re

PREFIX_LENGTH = 10
SECRET_LENGTH = 40
ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
"""Base 32: five bits a character, so that the secret has 200 bits."""

_FORM = re.compile(rf"ifm_([{ALPHABET}]{{{PREFIX_LENGTH}}})_[{ALPHABET}]{{{SECRET_LENGTH}}}")


def assembled(prefix: str, secret: str) -> str:
    return f"ifm_{prefix}_{secret}"


def prefix_of(key: str) -> str | None:
    """The prefix to find the key by; None for anything that no key of ours looks like."""
    match = _FORM.fullmatch(key)
    return match.group(1) if match else None


def digest_of(key: str) -> str:
    """SHA-256 of the whole key, in hex. A fast hash is right: 200 random bits cannot be guessed from it."""
    return hashlib.sha256(key.encode()).hexdigest()
