"""Turns what the engine counted and what gateways logged into the part of busy time that nobody asked for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from apps.rollups.domain.facts import ReplicaHourRow


@dataclass(frozen=True, slots=True)
class Residual:
    """Tokens counted minus tokens logged, signed: below zero means that more was logged than the engine did."""

    prompt: int
    generation: int
    counted: int

    @property
    def share(self) -> Fraction:
        """Unlogged tokens as a share of the counted ones, each kind not below zero; 0 where nothing was counted."""
        if self.counted == 0:
            return Fraction(0)
        return Fraction(max(0, self.prompt) + max(0, self.generation), self.counted)


def residual_of(row: ReplicaHourRow) -> Residual | None:
    """The residual of one replica-hour; None where the engine is not seen, so that nothing can be said."""
    if row.counted_prompt_tokens is None or row.counted_generation_tokens is None:
        return None
    return Residual(
        prompt=row.counted_prompt_tokens - row.logged_prompt_tokens,
        generation=row.counted_generation_tokens - row.logged_generation_tokens,
        counted=row.counted_prompt_tokens + row.counted_generation_tokens,
    )
