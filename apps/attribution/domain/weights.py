"""Turns the usage rows of one replica-hour into the weights by which its busy time is shared, with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from apps.core.money import whole_weights
from apps.core.vocabulary import Tier
from apps.rollups.domain.facts import UsageFact


@dataclass(frozen=True, slots=True)
class TokenWeights:
    """What a token weighs in tier C. An assumption, not a measurement: lines that rest on it say `weighted_tokens`."""

    uncached_input: Fraction = Fraction(1)
    cached_input: Fraction = Fraction(0)
    output: Fraction = Fraction(4)


DEFAULT_TOKEN_WEIGHTS = TokenWeights()


@dataclass(frozen=True, slots=True)
class Sharing:
    """Usage rows with a weight over zero, in the order of their dimensions, and the tier of these weights."""

    tier: Tier
    rows: tuple[UsageFact, ...]
    weights: tuple[int, ...]


Dimensions = tuple[int, int, int, int, int, int, int, int]


def dimensions_of(row: UsageFact) -> Dimensions:
    """What tells usage rows of one hour apart, and orders them."""
    return (
        row.team_id, row.endpoint_id, row.model_id, row.replica_id,
        row.key_id, row.work, row.status_group, row.traffic,
    )  # fmt: skip


def sharing_of(usage: Sequence[UsageFact], tier: int, token_weights: TokenWeights = DEFAULT_TOKEN_WEIGHTS) -> Sharing:
    """The weights of `usage` by the best evidence there is: request times where `tier` says so, else tokens.

    No rows in the answer means that there is nobody to charge.
    """
    ordered = sorted(usage, key=dimensions_of)
    by_time = tier == Tier.SHARED_TIME
    if by_time and any(row.share_units for row in ordered):
        return _sharing(Tier.SHARED_TIME, ordered, [row.share_units for row in ordered])
    tokens = whole_weights([_weighted_tokens(row, token_weights) for row in ordered])
    return _sharing(Tier.SHARED_TIME if by_time and not any(tokens) else Tier.WEIGHTED_TOKENS, ordered, tokens)


def _sharing(tier: Tier, rows: Sequence[UsageFact], weights: Sequence[int]) -> Sharing:
    kept = [(row, weight) for row, weight in zip(rows, weights, strict=True) if weight]
    return Sharing(tier, tuple(row for row, _ in kept), tuple(weight for _, weight in kept))


def _weighted_tokens(row: UsageFact, weights: TokenWeights) -> Fraction:
    uncached = row.input_tokens - row.cache_read_tokens
    if uncached < 0:
        # A source whose input leaves out the cached tokens: the two counts stand side by side, nothing is clamped.
        uncached = row.input_tokens
    return (
        weights.uncached_input * uncached
        + weights.cached_input * row.cache_read_tokens
        + weights.output * row.output_tokens
    )
