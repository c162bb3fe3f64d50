"""Turns one value of a catalog file into its type, or says in a ValueError what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit

from apps.catalog.domain.aliases import SLUG_LENGTH

Read = Callable[[object], object]

_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_CURRENCY = re.compile(r"[A-Z]{3}")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def text(limit: int, *, empty: bool = False) -> Read:
    """A string of up to `limit` characters."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{shown(value)} is not text: put it in quotes")
        stripped = value.strip()
        if not stripped and not empty:
            raise ValueError("is empty")
        if len(stripped) > limit:
            raise ValueError(f"has {len(stripped)} characters: use at most {limit}")
        if _UNSTORABLE.search(stripped):
            raise ValueError("holds a character that cannot be stored (NUL or half a surrogate pair)")
        return stripped

    return read


def slug(value: object) -> str:
    if not isinstance(value, str) or not _SLUG.fullmatch(value) or len(value) > SLUG_LENGTH:
        raise ValueError(
            f"{shown(value)} is no slug: use lower-case letters and digits, joined by - or _,"
            f" up to {SLUG_LENGTH} characters"
        )
    return value


def optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def whole(least: int, most: int) -> Read:
    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(f"{shown(value)} is no whole number from {least} to {most}")
        return value

    return read


def number(*, whole_digits: int, places: int) -> Read:
    """A decimal number >= 0 with at most so many digits before and behind the point."""

    def read(value: object) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
            raise ValueError(f"{shown(value)} is not a number")
        try:
            amount = Decimal(str(value).strip())
        except InvalidOperation:
            raise ValueError(f"{shown(value)} is not a number: use digits and a point, e.g. 2.50") from None
        if not amount.is_finite():
            raise ValueError(f"{shown(value)} is not a number")
        if amount < 0:
            raise ValueError(f"{shown(value)} is negative")
        if amount >= 10**whole_digits or amount != round(amount, places):
            raise ValueError(f"{shown(value)} has too many digits: {whole_digits} before and {places} behind the point")
        return amount

    return read


def currency(value: object) -> str:
    if not isinstance(value, str) or not _CURRENCY.fullmatch(value):
        raise ValueError(f"{shown(value)} is no currency: use its three letters, e.g. USD")
    return value


def yes_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


def moment(value: object) -> datetime:
    """A date (its midnight) or a time, in UTC where no offset is given."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"{shown(value)} is no date: use e.g. 2026-01-31 or 2026-01-31T12:00:00Z") from None
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    raise ValueError(f"{shown(value)} is no date: use e.g. 2026-01-31 or 2026-01-31T12:00:00Z")


def page_address(value: object) -> str:
    """An http or https address of up to 200 characters; "" for none."""
    if value is None or value == "":
        return ""
    address = text(200)(value)
    assert isinstance(address, str)
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or re.search(r"\s", address):
        raise ValueError(f"{shown(value)} is no address: use e.g. http://10.0.0.5:8000/metrics")
    return address


def shown(value: object) -> str:
    """A value as it appears in a message: quoted, and never long."""
    words = repr(value) if isinstance(value, str) else str(value)
    return words if len(words) <= 60 else f"{words[:57]}..."
