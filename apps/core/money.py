"""Money as `Decimal`: the quantum, and splitting an amount so that the parts add up again exactly.

Splitting works on whole quanta (`int`), so that it is exact and fast; the Decimal functions wrap it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, TypeVar


class _Sortable(Protocol):
    def __lt__(self, other: object, /) -> bool: ...


K = TypeVar("K", bound=_Sortable)

QUANTUM = Decimal("0.000001")
"""The smallest amount the ledger holds: 10^-6 of the currency."""


def quantize(amount: Decimal) -> Decimal:
    """`amount` rounded half-even to the ledger's quantum."""
    return amount.quantize(QUANTUM)


def from_quanta(count: int, quantum: Decimal = QUANTUM) -> Decimal:
    """`count` quanta as a Decimal with the quantum's own number of places."""
    return count * quantum


def to_quanta(amount: Decimal, quantum: Decimal = QUANTUM) -> int:
    """`amount` as a whole number of quanta. Raises ValueError if it is none."""
    quanta = Fraction(amount) / Fraction(quantum)
    if quanta.denominator != 1:
        raise ValueError(f"{amount} is not a multiple of {quantum}")
    return quanta.numerator


def apportion(total: int, exact: Sequence[Fraction]) -> list[int]:
    """Whole parts near `exact` that sum to `total`; each is the floor of its exact part or one more.

    `exact` may hold negative parts, and must sum to within half a unit of `total` (that is: `total` is the rounded
    sum). Missing units go to the largest remainders; ties to the earlier part. Raises ValueError if the sum is off.
    """
    floors = [part.numerator // part.denominator for part in exact]
    missing = total - sum(floors)
    if not exact and missing == 0:
        return []
    if not exact or abs(sum(exact, Fraction(0)) - total) > Fraction(1, 2):
        raise ValueError(f"the parts do not sum to about {total}")
    order = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
    for i in order[:missing]:
        floors[i] += 1
    return floors


def split_quanta(total: int, weights: Sequence[int]) -> list[int]:
    """Split `total` whole quanta by non-negative integer weights; parts are whole and sum to `total` exactly.

    Method of largest remainders (Hamilton): floors first, then one quantum each to the largest remainders, ties to
    the earlier weight. A negative total (a credit) is split by its absolute value. Raises ValueError if a weight is
    negative or if all weights are zero.
    """
    weight_sum = sum(weights)
    if weight_sum == 0:
        raise ValueError("all weights are zero: name who pays")
    if min(weights) < 0:
        raise ValueError("a weight is negative")
    sign, magnitude = (-1, -total) if total < 0 else (1, total)
    parts = [0] * len(weights)
    remainders = [0] * len(weights)
    for i, weight in enumerate(weights):
        parts[i], remainders[i] = divmod(magnitude * weight, weight_sum)
    missing = magnitude - sum(parts)
    if missing:
        for i in sorted(range(len(weights)), key=lambda i: -remainders[i])[:missing]:
            parts[i] += 1
    return [-part for part in parts] if sign < 0 else parts


def largest_remainder(
    total: Decimal, weights: Mapping[K, int | Fraction | Decimal], quantum: Decimal = QUANTUM
) -> dict[K, Decimal]:
    """Split `total` by `weights` into multiples of `quantum` that sum to `total` exactly (see `split_quanta`).

    Ties go to the smaller key, so the result depends on nothing but the arguments; vectors in docs/attribution.md.

    Raises ValueError if `total` is no multiple of `quantum`, if a weight is negative, or if all weights are zero:
    then the caller must say who pays, since nothing may vanish.
    """
    count = to_quanta(total, quantum)
    keys = sorted(weights)
    parts = split_quanta(count, whole_weights([Fraction(weights[key]) for key in keys]))
    return {key: from_quanta(part, quantum) for key, part in zip(keys, parts, strict=True)}


def whole_weights(weights: Sequence[Fraction]) -> list[int]:
    """The same proportions as integers (all multiplied by the common denominator)."""
    common = math.lcm(*(weight.denominator for weight in weights))
    return [weight.numerator * (common // weight.denominator) for weight in weights]
