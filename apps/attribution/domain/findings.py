"""Turns replica-hours into findings: what the numbers say that cannot be, shown instead of clamped away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from apps.attribution.domain.residual import residual_of
from apps.rollups.domain.facts import ReplicaHourRow

Code = Literal["negative_idle", "logged_over_counted", "unpriced", "nobody_to_charge"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`quantity` of `unit` on one replica over `hours` hours, in words fit for a page."""

    code: Code
    replica_id: int
    hours: int
    quantity: Decimal
    unit: Literal["seconds", "tokens"]
    message: str


def findings_of(rows: Iterable[ReplicaHourRow]) -> list[Finding]:
    """Negative idle, and more tokens logged than counted, by replica."""
    idle: defaultdict[int, list[int]] = defaultdict(list)
    tokens: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.idle_us < 0:
            idle[row.replica_id].append(-row.idle_us)
        residual = residual_of(row)
        over = max(0, -residual.prompt) + max(0, -residual.generation) if residual else 0
        if over:
            tokens[row.replica_id].append(over)
    return [
        Finding(
            "negative_idle", replica_id, len(found), Decimal(sum(found)) / 10**6, "seconds",
            "used for longer than it held its GPUs: check from when to when it held them",
        )
        for replica_id, found in sorted(idle.items())
    ] + [
        Finding(
            "logged_over_counted", replica_id, len(found), Decimal(sum(found)), "tokens",
            "gateways logged more tokens than the engine counted: a few are work at the edge of an hour, seen by the"
            " next scrape; many mean that a scrape is missing, or that two gateways logged one call",
        )
        for replica_id, found in sorted(tokens.items())
    ]  # fmt: skip
