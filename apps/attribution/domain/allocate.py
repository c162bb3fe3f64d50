"""Turns the facts of one hour, what replicas hold and what GPUs cost into the ledger lines of that hour.

The lines of a replica-hour add up to its seconds, its GPU-seconds and its cost exactly: each of the three is rounded
once, then divided by largest remainder, from the top of one tree down to its leaves (docs/attribution.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from apps.attribution.domain.lines import NANO, Line
from apps.attribution.domain.residual import residual_of
from apps.attribution.domain.slices import BUSY, Rate, Slice, slices_of
from apps.attribution.domain.weights import (
    DEFAULT_TOKEN_WEIGHTS,
    Sharing,
    TokenWeights,
    dimensions_of,
    sharing_of,
)
from apps.catalog.domain.nouns import Holding
from apps.catalog.domain.prices import PriceBook
from apps.core.money import apportion, from_quanta, split_quanta
from apps.core.vocabulary import Component, StatusGroup, Tier, Traffic, Work
from apps.rollups.domain.facts import HourFacts, ReplicaHourRow, UsageFact

NOBODY_TO_CHARGE = "busy, but no request is known that could be charged"
NEGATIVE_IDLE = "more time used than held: check when the replica held its GPUs"
NO_TIMES = "neither the requests nor the engine say how long this took"
NO_REPLICA = "the requests name no replica: what served them is not known"


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where a part comes to rest: one line to be. `usage` is set for shared lines only."""

    component: Component
    usage: UsageFact | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """What falls here is divided over the children by whole weights."""

    weights: Sequence[int]
    children: Sequence[Branch | Leaf]


def allocate_hour(
    facts: HourFacts,
    holdings: Mapping[int, Holding],
    book: PriceBook,
    token_weights: TokenWeights = DEFAULT_TOKEN_WEIGHTS,
) -> list[Line]:
    """All ledger lines of the hour, in an order that depends on nothing but the arguments.

    `holdings` by replica id. Raises ValueError where held is not load + busy + idle + down.
    """
    by_replica = {
        replica_id: list(rows)
        for replica_id, rows in groupby(
            sorted(facts.usage, key=lambda row: (row.replica_id, dimensions_of(row))), key=lambda row: row.replica_id
        )
    }
    lines: list[Line] = []
    for row in sorted(facts.replicas, key=lambda row: row.replica_id):
        usage = by_replica.pop(row.replica_id, [])
        lines.extend(allocate_replica_hour(row, usage, holdings.get(row.replica_id), book, token_weights))
    for replica_id, usage in by_replica.items():
        lines.extend(_without_replica_hour(replica_id, usage, holdings.get(replica_id)))
    return lines


def allocate_replica_hour(
    row: ReplicaHourRow,
    usage: Sequence[UsageFact],
    holding: Holding | None,
    book: PriceBook,
    token_weights: TokenWeights = DEFAULT_TOKEN_WEIGHTS,
) -> list[Line]:
    """The lines of one replica-hour, whose usage rows `usage` are."""
    if row.held_us != row.load_us + row.busy_us + row.idle_us + row.down_us:
        raise ValueError(f"replica {row.replica_id} at {row.hour}: held is not load + busy + idle + down")
    sharing = sharing_of(usage, row.tier, token_weights)
    tree = _busy_tree(row, sharing)
    lines = [
        line
        for part in slices_of(row, holding, book)
        for line in _slice_lines(row.replica_id, holding, part, tree, sharing.tier)
    ]
    if row.busy_us == 0 and row.tier != Tier.SHARED_TIME:
        # The time itself stays with the owner, as idle: nobody can say how much of it was work.
        lines.extend(_work_without_cost(row.replica_id, usage, holding, NO_TIMES))
    return lines


def _busy_tree(row: ReplicaHourRow, sharing: Sharing) -> Branch:
    """Busy time is unattributed in part, the rest is shared; with nobody to share it, it falls to the owner."""
    residual = residual_of(row)
    unattributed = residual.share if residual else Fraction(0)
    shared: Branch | Leaf = Branch(sharing.weights, [Leaf(Component.SHARED, row) for row in sharing.rows])
    if not sharing.rows:
        shared = Leaf(Component.IDLE, remark=NOBODY_TO_CHARGE)
    weights = [unattributed.denominator - unattributed.numerator, unattributed.numerator]
    children: list[Branch | Leaf] = [shared, Leaf(Component.UNATTRIBUTED)]
    kept = [i for i in (0, 1) if weights[i]]
    return Branch([weights[i] for i in kept], [children[i] for i in kept])


def _slice_lines(
    replica_id: int, holding: Holding | None, part: Slice, busy_tree: Branch, tier: Tier
) -> Iterator[Line]:
    """The lines of the part of a replica-hour under one price."""
    components = {component: ns for component, ns in part.nanoseconds.items() if ns}
    trees: list[Branch | Leaf] = [
        busy_tree if component == BUSY else Leaf(component, remark=NEGATIVE_IDLE if ns < 0 else "")
        for component, ns in components.items()
    ]
    leaves = [leaf for tree in trees for leaf in _leaves(tree)]
    lengths = list(components.values())
    rate = part.rate
    seconds = _divided(Fraction(1), lengths, trees)
    gpu_seconds = None if rate.gpus is None else _divided(Fraction(rate.gpus), lengths, trees)
    amounts = None if rate.quanta is None else _divided(rate.quanta, lengths, trees)
    for i, leaf in enumerate(leaves):
        yield _line(
            replica_id, holding, rate, leaf, tier, seconds[i],
            None if gpu_seconds is None else gpu_seconds[i],
            None if amounts is None else amounts[i],
        )  # fmt: skip


def _divided(per_nanosecond: Fraction, lengths: Sequence[int], trees: Sequence[Branch | Leaf]) -> list[int]:
    """A measure of so many units a nanosecond: rounded once for all of `lengths`, then divided down the trees."""
    total = round(per_nanosecond * sum(lengths))
    parts = apportion(total, [per_nanosecond * length for length in lengths])
    return [unit for part, tree in zip(parts, trees, strict=True) for unit in _fall(part, tree)]


def _fall(total: int, node: Branch | Leaf) -> Iterator[int]:
    if isinstance(node, Leaf):
        yield total
        return
    for part, child in zip(split_quanta(total, node.weights), node.children, strict=True):
        yield from _fall(part, child)


def _leaves(node: Branch | Leaf) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
        return
    for child in node.children:
        yield from _leaves(child)


def _line(
    replica_id: int,
    holding: Holding | None,
    rate: Rate,
    leaf: Leaf,
    tier: Tier,
    nanoseconds: int,
    gpu_nanoseconds: int | None,
    quanta: int | None,
) -> Line:
    usage = leaf.usage
    owner = holding.owner_team_id if holding and leaf.component != Component.UNATTRIBUTED else 0
    return Line(
        component=leaf.component,
        replica_id=replica_id,
        deployment_id=holding.deployment_id if holding else 0,
        gpu_type_id=holding.gpu_type_id if holding else 0,
        team_id=usage.team_id if usage else owner,
        endpoint_id=usage.endpoint_id if usage else 0,
        model_id=usage.model_id if usage else (holding.model_id if holding else 0),
        key_id=usage.key_id if usage else 0,
        work=usage.work if usage else Work.FIRST,
        status_group=usage.status_group if usage else StatusGroup.OK,
        traffic=usage.traffic if usage else Traffic.USER,
        tier=tier,
        seconds=from_quanta(nanoseconds, NANO),
        gpu_seconds=None if gpu_nanoseconds is None else from_quanta(gpu_nanoseconds, NANO),
        amount=None if quanta is None else from_quanta(quanta),
        currency=rate.currency,
        reason=rate.reason or leaf.remark,
        price_id=rate.price.id if rate.price else None,
        price=rate.price.amount if rate.price else None,
    )


def _without_replica_hour(replica_id: int, usage: Sequence[UsageFact], holding: Holding | None) -> Iterator[Line]:
    """Work that was done, but on nothing that is known to have held GPUs: its cost is not known, which is not zero."""
    name = holding.slug if holding else f"replica {replica_id}"
    reason = f"{name} is not known to have held GPUs in this hour" if replica_id else NO_REPLICA
    yield from _work_without_cost(replica_id, usage, holding, reason)


def _work_without_cost(
    replica_id: int, usage: Sequence[UsageFact], holding: Holding | None, reason: str
) -> Iterator[Line]:
    rate = Rate(holding.gpus if holding else None, None, None, reason)
    for row in usage:
        if _did_work(row):
            yield _line(replica_id, holding, rate, Leaf(Component.SHARED, row), Tier.WEIGHTED_TOKENS, 0, None, None)


def _did_work(row: UsageFact) -> bool:
    """False for attempts that were refused, or failed without a token: nothing says that they used a GPU."""
    if row.status_group in (StatusGroup.OK, StatusGroup.ABORTED):
        return row.attempts > 0 or row.share_units > 0
    return bool(row.input_tokens or row.output_tokens or row.share_units)
