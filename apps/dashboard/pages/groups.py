"""A table by team, endpoint or model that adds up: what each used and cost, the remainders as rows, and the total."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Cost, Money
from apps.core.query import Ask, Dimension
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component
from apps.dashboard.change import Change, relative
from apps.dashboard.pages.parts import Spark, by_id, finished, known, quantile, rate
from apps.dashboard.state import PageState
from apps.rollups import selectors as rollups

if TYPE_CHECKING:
    from apps.rollups.selectors import Usage

Grouping = Literal["team", "endpoint", "model"]
GROUPINGS: tuple[Grouping, ...] = ("team", "endpoint", "model")
SORTS = ("-cost", "cost", "-requests", "-errors", "-tokens", "-cached", "-ttft", "-itl", "name")
NOTHING_ATTRIBUTED = Unknown("nothing is attributed here in this range")
REMAINDERS = (
    (Component.UNATTRIBUTED, "Unattributed", "used by work that no gateway logged"),
    (Component.IDLE, "Idle", "GPUs held with nothing running"),
    (Component.LOAD, "Loading", "GPUs held while the engine started"),
    (Component.DOWN, "Down", "GPUs held while the engine did not answer"),
)
"""Components that no caller used, in the order of their rows."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One team, endpoint or model. `cost` is its shared part: the busy time that its requests used."""

    name: str
    url: str
    claimed: bool
    cost: Money
    change: Change | None
    waste: Money
    requests: int
    attempts: int
    error_rate: float | Unknown
    tokens: int
    cached: float | Unknown
    ttft_p95: float | Unknown
    itl_p95: float | Unknown
    spark: Spark = ()


@dataclass(frozen=True, slots=True)
class Remainder:
    name: str
    meaning: str
    cost: Money
    change: Change | None


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Rows, remainders and total: shared rows plus remainders are the total, which is the key figure."""

    dimension: Grouping
    rows: list[GroupRow]
    remainders: list[Remainder]
    total: Cost
    usage: Usage | None
    top_cost: float | None
    top_spark: float | None

    @property
    def cut(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Spending:
    """All that a page shows of costs: totals now and before, by bucket, by group, and by both."""

    total: Cost
    before: Cost | None
    buckets: list[Cost]
    groups: list[Cost]
    groups_before: list[Cost]
    group_buckets: list[Cost]


def spending(state: PageState, dimension: Grouping) -> Spending:
    """The costs of the state's window and of the one before, read together."""
    when, group = state.period, (dimension,)
    asks = [
        Ask(when.window),
        Ask(when.window, (), when.bucket),
        Ask(when.window, group),
        Ask(when.window, group, when.bucket),
    ]
    asks += [Ask(when.before), Ask(when.before, group)] if when.before is not None else []
    (total,), buckets, groups, group_buckets, *earlier = attribution.costs_of(asks, state.filters)
    before, groups_before = (earlier[0][0], earlier[1]) if earlier else (None, [])
    return Spending(total, before, buckets, groups, groups_before, group_buckets)


def table(
    state: PageState, dimension: Grouping, spent: Spending, used: Sequence[Usage], sort: str = "-cost"
) -> GroupTable:
    """The table of the state's window by `dimension`; `used` is the usage of each of its groups."""
    total, before = spent.total, spent.before
    uses = by_id(used, dimension)
    costs = by_id(spent.groups, dimension)
    earlier = by_id(spent.groups_before, dimension)
    sparks = _sparks(state, dimension, spent.group_buckets)
    rows = [
        _row(state, dimension, noun_id, uses.get(noun_id), costs.get(noun_id), earlier.get(noun_id), sparks)
        for noun_id in uses.keys() | {noun_id for noun_id, cost in costs.items() if shared(cost)}
    ]
    rows.sort(key=lambda row: row.name.lower())
    key, descending = _sorting(sort)
    rows.sort(key=key, reverse=descending)
    drawn = [known(row.cost) or 0.0 for row in rows]
    peaks = [value for row in rows for value in row.spark if value is not None]
    usage = rollups.merged(list(uses.values()))
    return GroupTable(
        dimension, rows, remainders(total, before), total, usage, max(drawn, default=None), max(peaks, default=None)
    )


def shared(cost: Cost | None) -> Money:
    return NOTHING_ATTRIBUTED if cost is None else cost.components[Component.SHARED]


def remainders(total: Cost, before: Cost | None) -> list[Remainder]:
    """What nobody's requests used, as rows of their own; those that are nothing in both periods are left out."""
    out = []
    for component, name, meaning in REMAINDERS:
        amount = total.components[component]
        if amount or isinstance(amount, Unknown):
            change = relative(amount, before.components[component]) if before else None
            out.append(Remainder(name, meaning, amount, change))
    return out


def _row(
    state: PageState,
    dimension: Grouping,
    noun_id: int,
    usage: Usage | None,
    cost: Cost | None,
    before: Cost | None,
    sparks: dict[int, list[float | None]],
) -> GroupRow:
    noun = state.names[dimension][noun_id]
    no_requests = "no requests in this range"
    return GroupRow(
        name=noun.name,
        url=state.url(f"/{dimension}s/{noun.slug}"),
        claimed=noun.claimed,
        cost=shared(cost),
        change=relative(shared(cost), shared(before) if before else Decimal(0)) if state.period.before else None,
        waste=cost.waste if cost else NOTHING_ATTRIBUTED,
        requests=usage.calls if usage else 0,
        attempts=usage.attempts if usage else 0,
        error_rate=rate(usage.failed_calls, usage.calls, no_requests) if usage else Unknown(no_requests),
        tokens=usage.input_tokens + usage.output_tokens if usage else 0,
        cached=rate(usage.cache_read_tokens, usage.input_tokens, no_requests) if usage else Unknown(no_requests),
        ttft_p95=quantile(usage.ttft, 0.95) if usage else Unknown(no_requests),
        itl_p95=quantile(usage.itl, 0.95) if usage else Unknown(no_requests),
        spark=sparks.get(noun_id, ()),
    )


def _sparks(state: PageState, dimension: Dimension, costs: Sequence[Cost]) -> dict[int, list[float | None]]:
    """Shared cost by bucket and id; a bucket without a line is a zero here, since its hour was attributed."""
    starts = finished(state)
    place = {start: index for index, start in enumerate(starts)}
    found: dict[int, list[float | None]] = {}
    for cost in costs:
        index = place.get(cost.bucket) if isinstance(cost.bucket, datetime) else None
        if index is not None:
            found.setdefault(cost.ids[dimension], [0.0] * len(starts))[index] = known(shared(cost))
    return found


def _sorting(sort: str) -> tuple[Callable[[GroupRow], tuple[bool, float] | str], bool]:
    """The key of a sort; a number that is not known comes last in falling order."""
    name = sort.lstrip("-")
    if name == "name":
        return lambda row: row.name.lower(), sort.startswith("-")
    values: dict[str, Callable[[GroupRow], float | None]] = {
        "cost": lambda row: known(row.cost),
        "requests": lambda row: float(row.requests),
        "errors": lambda row: known(row.error_rate),
        "tokens": lambda row: float(row.tokens),
        "cached": lambda row: known(row.cached),
        "ttft": lambda row: known(row.ttft_p95),
        "itl": lambda row: known(row.itl_p95),
    }
    value = values[name]

    def key(row: GroupRow) -> tuple[bool, float]:
        number = value(row)
        return number is not None, number or 0.0

    return key, sort.startswith("-")
