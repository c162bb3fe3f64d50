"""Turns sums of ledger lines into costs by component, work and ending, on both bases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.core.query import Dimension
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component, StatusGroup, Tier, Work

Money = Decimal | Unknown


@dataclass(frozen=True, slots=True)
class Sum:
    """Lines added up: the amount of those that have one, and how many have none, with one of their reasons.

    Currencies are the least and the greatest among the lines; empty where no line has one.
    """

    amount: Decimal
    lines: int
    unpriced_lines: int
    reason: str
    currencies: tuple[str, str] = ("", "")


NOTHING = Sum(Decimal(0), 0, 0, "")


def added(sums: Iterable[Sum]) -> Sum:
    total = NOTHING
    for item in sums:
        low = min((c for c in (total.currencies[0], item.currencies[0]) if c), default="")
        high = max(total.currencies[1], item.currencies[1])
        total = Sum(
            total.amount + item.amount,
            total.lines + item.lines,
            total.unpriced_lines + item.unpriced_lines,
            total.reason or item.reason,
            (low, high),
        )
    return total


def money(total: Sum) -> Money:
    """The amount of the priced lines; zero if there is no line at all, unknown if none of them is priced.

    Amounts of several currencies do not add up to anything.
    """
    low, high = total.currencies
    if low != high:
        return Unknown(f"amounts in {low} and {high} cannot be added")
    if total.lines and total.lines == total.unpriced_lines:
        return Unknown(total.reason)
    return total.amount


def ratio(part: Money, whole: Money, if_zero: str) -> Money:
    if isinstance(part, Unknown):
        return part
    if isinstance(whole, Unknown):
        return whole
    return part / whole if whole else Unknown(if_zero)


@dataclass(frozen=True, slots=True)
class Cell:
    """The lines of one component, work, ending and tier within a group."""

    component: Component
    work: Work
    status_group: StatusGroup
    tier: Tier
    sum: Sum
    seconds: Decimal
    gpu_seconds: Decimal
    unpriced_seconds: Decimal
    unpriced_gpu_seconds: Decimal


@dataclass(frozen=True, slots=True)
class Cost:
    """What one group cost in one bucket (its start; None for 'total').

    `amount` is on the allocation basis: it reconciles with the bill. `usage_amount` is the busy part alone, shared
    and unattributed. `work` and `status` split the shared part; `waste` is what of it went to anything but a first
    try that ended well. Lines without a price are in no amount: then `partial` is true, `reason` says why, and
    `unpriced_seconds` (of replicas) and `unpriced_gpu_seconds` (where the GPUs are known) say how much.
    """

    bucket: datetime | None
    ids: dict[Dimension, int]
    amount: Money
    usage_amount: Money
    currency: str
    components: dict[Component, Money]
    work: dict[Work, Money]
    status: dict[StatusGroup, Money]
    waste: Money
    estimated: Money
    """The shared part that rests on token weights (tier C)."""
    seconds: Decimal
    gpu_seconds: Decimal
    unpriced_seconds: Decimal
    unpriced_gpu_seconds: Decimal
    partial: bool
    reason: str

    @property
    def utilisation(self) -> Money:
        """Usage basis over allocation basis, 0 to 1 (above where idle is negative)."""
        return ratio(self.usage_amount, self.amount, "nothing was spent")


def cost_of(bucket: datetime | None, ids: dict[Dimension, int], cells: list[Cell]) -> Cost:
    """One group's cost out of its cells."""
    total = added(cell.sum for cell in cells)
    shared = [cell for cell in cells if cell.component == Component.SHARED]
    return Cost(
        bucket=bucket,
        ids=ids,
        amount=money(total),
        usage_amount=_money(c for c in cells if c.component in (Component.SHARED, Component.UNATTRIBUTED)),
        currency=total.currencies[0] if total.currencies[0] == total.currencies[1] else "",
        components={component: _money(c for c in cells if c.component == component) for component in Component},
        work={work: _money(c for c in shared if c.work == work) for work in Work},
        status={status: _money(c for c in shared if c.status_group == status) for status in StatusGroup},
        waste=_money(c for c in shared if (c.work, c.status_group) != (Work.FIRST, StatusGroup.OK)),
        estimated=_money(c for c in shared if c.tier == Tier.WEIGHTED_TOKENS),
        seconds=sum((cell.seconds for cell in cells), Decimal(0)),
        gpu_seconds=sum((cell.gpu_seconds for cell in cells), Decimal(0)),
        unpriced_seconds=sum((cell.unpriced_seconds for cell in cells), Decimal(0)),
        unpriced_gpu_seconds=sum((cell.unpriced_gpu_seconds for cell in cells), Decimal(0)),
        partial=0 < total.unpriced_lines < total.lines,
        reason=total.reason,
    )


def _money(cells: Iterable[Cell]) -> Money:
    return money(added(cell.sum for cell in cells))
