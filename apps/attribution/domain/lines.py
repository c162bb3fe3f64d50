"""One ledger line, as computed and as handed to other rooms."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from apps.core.money import QUANTUM
from apps.core.vocabulary import Pool

NANO = Decimal("0.000000001")
"""Quantities of time are held to 10^-9 of a second."""


@dataclass(frozen=True, slots=True)
class Line:
    """One amount, and what it pays for. `amount` is None, with a `reason`, where the money is not known.

    A `reason` beside an amount is a remark. `seconds` are seconds of the replica; `gpu_seconds` (None: the number of
    GPUs is not known) and `amount` follow from them.
    """

    component: int
    replica_id: int
    deployment_id: int
    gpu_type_id: int
    team_id: int
    endpoint_id: int
    model_id: int
    key_id: int
    work: int
    status_group: int
    traffic: int
    tier: int
    seconds: Decimal
    gpu_seconds: Decimal | None
    amount: Decimal | None
    currency: str
    reason: str
    price_id: int | None
    price: Decimal | None
    pool: int = Pool.COMPUTE

    @property
    def quanta(self) -> int | None:
        """`amount` in whole quanta of the ledger."""
        return None if self.amount is None else int(self.amount / QUANTUM)
