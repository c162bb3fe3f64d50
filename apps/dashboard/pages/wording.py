"""Pieces of sentences that several pages say in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction

from apps.attribution.selectors import TaskCostRow
from apps.core.money import apportion
from apps.core.unknown import Unknown
from apps.dashboard import format as words


def money_words(amount: Decimal | Unknown, currency: str, *, at_least: bool = False) -> str | Unknown:
    """An amount in words, or why there is none; `at_least` where some of it has no price."""
    if isinstance(amount, Unknown):
        return amount
    return lower_bound(words.money(amount, currency or "USD"), at_least)


def lower_bound(cell: str | Unknown, at_least: bool) -> str | Unknown:
    """The words of an amount as they are, or as a lower bound; what is not known is not one."""
    return f"≥\u00a0{cell}" if at_least and not isinstance(cell, Unknown) else cell


def unit_cost_words(row: TaskCostRow) -> str:
    """The cost of an accepted task inside a sentence."""
    if isinstance(row.cost_per_accepted, Unknown):
        return f"an unknown amount ({row.cost_per_accepted.reason})"
    return ("at least " if row.partial else "") + words.money(row.cost_per_accepted, row.currency or "USD")


def moved(ratio: float) -> str:
    """A relative change inside a sentence: up 9 %."""
    if abs(ratio) < 0.005:
        return "unchanged"
    percent = abs(ratio) * 100
    return f"{'up' if ratio > 0 else 'down'} {percent:.{0 if percent >= 10 else 1}f} %"


def places(total: Decimal | Unknown) -> int:
    """Decimals of a column of money that adds up to `total`: more where all of it is small change."""
    return 2 if isinstance(total, Unknown) or abs(total) >= 10 or total == 0 else 4


def adding_up(parts: Sequence[Decimal | Unknown], total: Decimal | Unknown, decimals: int) -> list[str | Unknown]:
    """Cells of a column of money, rounded so that the cells shown add up to the total shown.

    Where a part or the total is unknown, or the parts are not all of the total, each cell is rounded by itself.
    """
    scale = 10**decimals
    known = [part for part in parts if not isinstance(part, Unknown)]
    rounded = list(known)
    if not isinstance(total, Unknown) and len(known) == len(parts):
        try:
            exact = [Fraction(part) * scale for part in known]
            whole = int((total * scale).to_integral_value(ROUND_HALF_UP))
            rounded = [Decimal(units).scaleb(-decimals) for units in apportion(whole, exact)]
        except ValueError:
            rounded = list(known)
    cells = iter(zip(known, rounded, strict=True))
    return [part if isinstance(part, Unknown) else _cell(*next(cells), decimals) for part in parts]


def _cell(exact: Decimal, rounded: Decimal, decimals: int) -> str:
    return words.amount(exact if rounded == 0 else rounded, decimals)


def as_shown(cell: str | Unknown, exact: Decimal | Unknown) -> Decimal | Unknown:
    """The amount that a cell shows, for a sentence beside it; the exact one where the cell has no number."""
    try:
        return exact if isinstance(cell, Unknown) else Decimal(cell.replace(",", "").replace("−", "-"))
    except InvalidOperation:
        return exact


def coverage_words(coverage: float | Unknown) -> str:
    """How much of the tokens that engines counted was logged, beside a cost."""
    if isinstance(coverage, Unknown):
        return f"coverage unknown: {coverage.reason}"
    return f"{words.share(coverage)} of the tokens that engines counted were logged"
