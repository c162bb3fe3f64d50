"""Turns counts of failed sign-ins into whether the next one may be tried."""

from __future__ import annotations

from datetime import timedelta

WINDOW = timedelta(minutes=15)
FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS = 5
FAILURES_FROM_ONE_ADDRESS = 100
"""High, because a proxy may lend one address to a whole company."""


def too_many(*, of_name_from_address: int, from_address: int) -> bool:
    """Whether a try is one too many; both counts include the try itself."""
    return of_name_from_address > FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS or from_address > FAILURES_FROM_ONE_ADDRESS
