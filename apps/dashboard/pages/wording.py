"""Pieces of sentences that several pages say in the same way."""

from __future__ import annotations

from decimal import Decimal

from apps.core.unknown import Unknown
from apps.dashboard import format as words


def money_words(amount: Decimal | Unknown, currency: str, *, at_least: bool = False) -> str | Unknown:
    """An amount in words, or why there is none; `at_least` where some of it has no price."""
    if isinstance(amount, Unknown):
        return amount
    return ("≥ " if at_least else "") + words.money(amount, currency or "USD")


def moved(ratio: float) -> str:
    """A relative change inside a sentence: up 9 %."""
    if abs(ratio) < 0.005:
        return "unchanged"
    return f"{'up' if ratio > 0 else 'down'} {abs(ratio) * 100:.0f} %"
