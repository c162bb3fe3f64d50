"""Ledger lines of one hour gathered into the charges that an export lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from apps.attribution.domain.lines import Line


class ChargeKey(NamedTuple):
    """What one row of the export stands for. Ids are catalog ids, 0 for none given."""

    hour: datetime
    replica_id: int
    team_id: int
    endpoint_id: int
    model_id: int
    component: int
    work: int
    tier: int
    deployment_id: int
    gpu_type_id: int
    price_id: int
    price: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Charge:
    """`amount` at `key.price` per GPU-hour, for `gpu_seconds`. Both are sums of ledger lines, unrounded."""

    key: ChargeKey
    gpu_seconds: Decimal
    amount: Decimal


def gather(hour: datetime, lines: Iterable[Line]) -> list[Charge]:
    """The charges of one hour, in key order; amounts add up to those of the priced lines exactly.

    Lines without an amount are left out: FOCUS has no null cost, and zero would be a lie. API keys, endings and
    traffic classes are summed over.
    """
    sums: dict[ChargeKey, tuple[Decimal, Decimal]] = {}
    zero = (Decimal(0), Decimal(0))
    for line in lines:
        if line.amount is None or line.price is None or line.gpu_seconds is None or line.price_id is None:
            continue
        key = ChargeKey(
            hour, line.replica_id, line.team_id, line.endpoint_id, line.model_id, line.component, line.work,
            line.tier, line.deployment_id, line.gpu_type_id, line.price_id, line.price, line.currency,
        )  # fmt: skip
        seconds, amount = sums.get(key, zero)
        sums[key] = (seconds + line.gpu_seconds, amount + line.amount)
    return [Charge(key, *sums[key]) for key in sorted(sums)]
