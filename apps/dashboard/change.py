"""What a number did against the same number before: computed once, with its words and whether that is good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from apps.core.unknown import Unknown

Good = Literal["up", "down", "neither"]
Tone = Literal["good", "bad", "neutral"]
Number = int | float | Decimal
NOISE = 0.005
"""Relative changes below this are "no change"."""
POINT_NOISE = 0.0005
"""The same for rates, as a ratio: 0.05 percentage points."""


@dataclass(frozen=True, slots=True)
class Change:
    """Symbol, words and tone of a change; `ratio` is (now − before) / before, None where that says nothing."""

    symbol: str
    words: str
    tone: Tone
    ratio: float | None = None


NEW = Change("", "new", "neutral")
SAME = Change("", "no change", "neutral", 0.0)


def relative(
    now: Number | Unknown | None, before: Number | Unknown | None, good: Good = "neither", noise: float = NOISE
) -> Change | None:
    """Percent change of a quantity. None when either side is unknown; "new" when it was zero; never infinite.

    Relative changes under `noise` are none.
    """
    if now is None or before is None or isinstance(now, Unknown) or isinstance(before, Unknown):
        return None
    if before == 0:
        return SAME if now == 0 else NEW
    ratio = float((Decimal(str(now)) - Decimal(str(before))) / abs(Decimal(str(before))))
    if abs(ratio) < noise:
        return SAME
    return Change(_symbol(ratio), _percent(ratio), _tone(ratio, good), ratio)


def points(now: float | Unknown | None, before: float | Unknown | None, good: Good = "neither") -> Change | None:
    """Change of a rate in percentage points; both sides are ratios (0.02 is 2 %)."""
    if now is None or before is None or isinstance(now, Unknown) or isinstance(before, Unknown):
        return None
    difference = now - before
    if abs(difference) < POINT_NOISE:
        return SAME
    size = abs(difference) * 100
    words = f"{_sign(difference)}{size:.1f} points" if size >= 0.1 else f"{_sign(difference)}{size:.2f} points"
    return Change(_symbol(difference), words, _tone(difference, good), None)


def most_of(now: Mapping[str, Decimal | Unknown], before: Mapping[str, Decimal | Unknown]) -> tuple[str, float] | None:
    """The part of a sum that made most of its change, and its share of the change, 0 to 1.

    None where a part is unknown, nothing changed, or parts moved against each other so that a share says nothing.
    """
    changes: dict[str, Decimal] = {}
    for name, part in now.items():
        was = before.get(name)
        if was is None or isinstance(part, Unknown) or isinstance(was, Unknown):
            return None
        changes[name] = part - was
    whole = sum(changes.values(), Decimal(0))
    if not whole:
        return None
    name = max(changes, key=lambda part: changes[part] / whole)
    share = changes[name] / whole
    return (name, float(share)) if share <= 1 else None


def _percent(ratio: float) -> str:
    percent = abs(ratio) * 100
    if percent >= 1000:
        return f"×{1 + ratio:.0f}" if ratio > 0 else f"{_sign(ratio)}{percent:,.0f} %"
    return f"{_sign(ratio)}{percent:.0f} %" if percent >= 10 else f"{_sign(ratio)}{percent:.1f} %"


def _sign(value: float) -> str:
    return "+" if value > 0 else "−"


def _symbol(value: float) -> str:
    return "▲" if value > 0 else "▼"


def _tone(value: float, good: Good) -> Tone:
    if good == "neither":
        return "neutral"
    return "good" if (value > 0) == (good == "up") else "bad"
