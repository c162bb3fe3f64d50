"""Money as `Decimal`: the quantum, and splitting an amount so that the parts add up again exactly."""

from __future__ import annotations

from collections.abc import Mapping
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


def largest_remainder(
    total: Decimal, weights: Mapping[K, int | Fraction | Decimal], quantum: Decimal = QUANTUM
) -> dict[K, Decimal]:
    """Split `total` by `weights` into multiples of `quantum` that sum to `total` exactly.

    Each share is floored to the quantum, then the missing quanta go one each to the largest remainders; ties go to
    the smaller key, so the result depends on nothing but the arguments. A negative total (a credit) is split by its
    absolute value. Method of largest remainders (Hamilton); vectors in docs/attribution.md.

    Raises ValueError if `total` is no multiple of `quantum`, if a weight is negative, or if all weights are zero:
    then the caller must say who pays, since nothing may vanish.
    """
    sign, magnitude = (-1, -total) if total < 0 else (1, total)
    units = Fraction(magnitude) / Fraction(quantum)
    if units.denominator != 1:
        raise ValueError(f"{total} is not a multiple of {quantum}")
    exact_weights = {key: Fraction(weight) for key, weight in weights.items()}
    if any(weight < 0 for weight in exact_weights.values()):
        raise ValueError("a weight is negative")
    weight_sum = sum(exact_weights.values(), Fraction(0))
    if weight_sum == 0:
        raise ValueError("all weights are zero: name who pays")
    count = int(units)
    floors: dict[K, int] = {}
    remainders: list[tuple[Fraction, K]] = []
    for key, weight in exact_weights.items():
        exact = count * weight / weight_sum
        floors[key] = exact.numerator // exact.denominator
        remainders.append((floors[key] - exact, key))
    missing = count - sum(floors.values())
    for _, key in sorted(remainders)[:missing]:
        floors[key] += 1
    return {key: sign * units_ * quantum for key, units_ in floors.items()}
