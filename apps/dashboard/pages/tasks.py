"""Cost per accepted task: what does one useful result cost, and what is that made of?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Literal

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Money, TaskCostRow
from apps.core.query import Ask
from apps.core.unknown import Unknown
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.change import Change, most_of, points, relative
from apps.dashboard.pages import task_charts
from apps.dashboard.pages.groups import GROUPINGS, Grouping
from apps.dashboard.pages.parts import KeyFigure, by_bucket, by_id, compared, finished, known
from apps.dashboard.pages.wording import adding_up, lower_bound, money_words, moved, places, unit_cost_words
from apps.dashboard.state import PageState
from apps.rollups import selectors as rollups

SORTS = ("-cost", "-per", "per", "-tasks", "acceptance", "name")


Level = Literal["step", "sum", "part", "total"]


@dataclass(frozen=True, slots=True)
class Span:
    """One step of the bridge: its amount, its shares of serving and of the total, and its bar's place, 0 to 100."""

    name: str
    meaning: str
    amount: Money
    per_accepted: Money
    of_serving: float | None
    of_total: float | None
    start: float
    width: float
    level: Level
    partial: bool = False
    """Whether some of what it is the sum of is not known."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of tasks, in words, and how many."""

    name: str
    meaning: str
    tasks: int


@dataclass(frozen=True, slots=True)
class TaskRow:
    name: str
    url: str
    row: TaskCostRow
    change: Change | None
    cost: str | Unknown = ""
    review: str | Unknown = ""
    """The cells of money. Where some of it is not known they say at least how much it is."""


@dataclass(frozen=True, slots=True)
class TasksPage:
    answer: str
    figures: list[KeyFigure]
    bridge: list[Span]
    fates: list[Fate]
    cost_chart: charts.Chart
    side_charts: list[charts.Chart]
    rows: list[TaskRow]
    total: TaskRow
    coverage: float | Unknown
    top: float | None
    is_empty: bool


def build(state: PageState) -> TasksPage:
    when = state.period
    dimension: Grouping = next(g for g in GROUPINGS if g == state.choices["by"])
    asks = [Ask(when.window), Ask(when.window, (), when.bucket), Ask(when.window, (dimension,))]
    asks += [Ask(when.before), Ask(when.before, (dimension,))] if when.before is not None else []
    (total,), bucketed, found, *earlier = attribution.task_costs_of(asks, state.filters, state.now)
    before, found_before = (earlier[0][0], earlier[1]) if earlier else (None, [])
    buckets = by_bucket(bucketed)
    rows, last = _with_cells(_rows(state, dimension, found, by_id(found_before, dimension)), total)
    return TasksPage(
        answer=_answer(state, total, before),
        figures=_figures(state, total, before, buckets),
        bridge=bridge(total),
        fates=_fates(total),
        cost_chart=task_charts.cost_chart(state, buckets),
        side_charts=[task_charts.serving_chart(state, buckets), task_charts.rate_chart(state, buckets)],
        rows=rows,
        total=last,
        coverage=rollups.covered(rollups.coverage(when.window, state.filters.replica)),
        top=max((known(row.row.cost_per_accepted) or 0.0 for row in rows), default=None),
        is_empty=total.tasks == 0,
    )


def _rows(
    state: PageState, dimension: Grouping, found: Sequence[TaskCostRow], earlier: Mapping[int, TaskCostRow]
) -> list[TaskRow]:
    rows = [
        TaskRow(
            name=state.names[dimension][row.ids[dimension]].name,
            url=state.url(f"/{dimension}s/{state.names[dimension][row.ids[dimension]].slug}"),
            row=row,
            change=_change(row, earlier.get(row.ids[dimension])),
        )
        for row in found
    ]
    key, descending = _sorting(state.choices["sort"])
    return sorted(sorted(rows, key=lambda row: row.name.lower()), key=key, reverse=descending)


def _with_cells(rows: list[TaskRow], total: TaskCostRow) -> tuple[list[TaskRow], TaskRow]:
    """The rows with their cells of money, and the row of the total, to whose cells they add up."""
    least = _least(total)
    decimals = places(least)
    costs = adding_up([_least(row.row) for row in rows], least, decimals)
    reviews = adding_up([row.row.review for row in rows], total.review, decimals)
    # What a group lacks, the total lacks too.
    of_review = any(isinstance(row.row.review, Unknown) for row in rows)
    last = TaskRow(
        name="Total",
        url="",
        row=total,
        change=None,
        cost=lower_bound(_cell(least, decimals), _is_bound(total)),
        review=lower_bound(_cell(total.review, decimals), of_review),
    )
    return [
        replace(row, cost=lower_bound(cost, _is_bound(row.row)), review=review)
        for row, cost, review in zip(rows, costs, reviews, strict=True)
    ], last


def _least(row: TaskCostRow) -> Money:
    """What decided tasks cost, or the known one of serving and review where the other is not known."""
    if not isinstance(row.total, Unknown) or not row.currency:
        return row.total
    return next((part for part in (row.serving, row.review) if isinstance(part, Decimal) and part), row.total)


def _is_bound(row: TaskCostRow) -> bool:
    return row.partial or isinstance(row.total, Unknown)


def _cell(amount: Money, decimals: int) -> str | Unknown:
    return amount if isinstance(amount, Unknown) else words.amount(amount, decimals)


def _change(now: TaskCostRow, before: TaskCostRow | None) -> Change | None:
    """Nothing is said of a change between small samples."""
    if before is None or now.small_sample or before.small_sample:
        return None
    return compared(now, before, "cost_per_accepted", "down")


def _sorting(sort: str) -> tuple[Callable[[TaskRow], tuple[bool, float] | str], bool]:
    name = sort.lstrip("-")
    if name == "name":
        return lambda row: row.name.lower(), False
    values: dict[str, Callable[[TaskCostRow], Money | int]] = {
        "cost": lambda row: row.total,
        "per": lambda row: row.cost_per_accepted,
        "tasks": lambda row: row.tasks,
        "acceptance": lambda row: row.acceptance_rate,
    }
    value = values[name]
    descending = sort.startswith("-")

    def key(row: TaskRow) -> tuple[bool, float]:
        number = known(value(row.row))
        return (number is not None) == descending, number or 0.0

    return key, descending


def bridge(total: TaskCostRow) -> list[Span]:
    """What one accepted task cost, built up step by step: serving from its attempts, the total from it and review.

    The steps of serving are drawn on the scale of serving, the others on the scale of the total: on one scale the
    smaller of the two would not be seen where review costs much more than machines, or much less.
    """
    minutes = f"{words.compact(float(total.review_minutes))} minutes by people"
    serving = [
        ("First tries", "the first attempt of every step", total.compute),
        ("Retries", "the same model again", total.retries),
        ("Fallbacks", "the gateway went on to another model", total.fallbacks),
        ("Escalations", "the client tried again on another model", total.escalations),
    ]
    spans, reached = [], 0.0
    for name, meaning, amount in serving:
        width = _percent(amount, total.serving)
        spans.append(_span(name, meaning, amount, total, (reached, width), level="step"))
        reached += width
    machines = _percent(total.serving, total.total)
    people = _percent(total.review, total.total)
    return [
        *spans,
        _span("Serving", "", total.serving, total, (0.0, machines), level="sum"),
        _span("Review", minutes, total.review, total, (machines, people), level="part"),
        _span("Total", "of decided tasks", total.total, total, (0.0, 100.0), level="total"),
    ]


def _span(name: str, meaning: str, amount: Money, total: TaskCostRow, bar: tuple[float, float], level: Level) -> Span:
    return Span(
        name=name,
        meaning=meaning,
        amount=amount,
        per_accepted=_per(amount, total),
        of_serving=_share(amount, total.serving) if level in ("step", "sum") else None,
        of_total=_share(amount, total.total),
        start=bar[0],
        width=bar[1],
        level=level,
        partial=total.partial and level in ("sum", "total"),
    )


def _share(amount: Money, whole: Money) -> float | None:
    part, all_of_it = known(amount), known(whole)
    return part / all_of_it if part is not None and all_of_it else None


def _percent(amount: Money, whole: Money) -> float:
    return (_share(amount, whole) or 0.0) * 100


def _per(amount: Money, total: TaskCostRow) -> Money:
    if isinstance(amount, Unknown):
        return amount
    return amount / total.accepted if total.accepted else Unknown("no accepted tasks")


def _fates(total: TaskCostRow) -> list[Fate]:
    return [
        Fate("Accepted", "as they were", total.accepted),
        Fate("Reworked", "accepted only after somebody changed them", total.reworked),
        Fate("Rejected", "", total.rejected),
        Fate("Expired", "no decision within the decision window", total.expired),
        Fate("Pending", "still inside the decision window, in no number here", total.pending),
    ]


def _figures(
    state: PageState, total: TaskCostRow, before: TaskCostRow | None, buckets: dict[datetime, TaskCostRow]
) -> list[KeyFigure]:
    starts = finished(state)
    rows = [buckets.get(start) for start in starts]
    acceptance = total.acceptance_rate
    requests = state.url("/requests", tasks="yes")
    return [
        KeyFigure(
            label="Cost per accepted task",
            value=money_words(total.cost_per_accepted, total.currency, at_least=total.partial),
            note=_note(total),
            change=compared(total, before, "cost_per_accepted", "down"),
            spark=[known(row.cost_per_accepted) if row else None for row in rows],
            term="cost-per-accepted-task",
        ),
        KeyFigure(
            label="Serving alone",
            value=money_words(total.serving_per_accepted, total.currency, at_least=total.partial),
            note="per accepted task, without review",
            change=compared(total, before, "serving_per_accepted", "down"),
            spark=[known(row.serving_per_accepted) if row else None for row in rows],
            term="cost-per-accepted-task",
        ),
        KeyFigure(
            label="Acceptance rate",
            value=acceptance if isinstance(acceptance, Unknown) else words.share(float(acceptance)),
            note=f"{total.accepted:,} of {total.decided:,} decided tasks",
            change=points(known(acceptance), known(before.acceptance_rate), "up") if before else None,
            spark=[known(row.acceptance_rate) if row else None for row in rows],
            term="acceptance-rate",
        ),
        KeyFigure(
            label="Tasks",
            value=words.count(total.tasks),
            note=f"{total.pending:,} pending, {total.retried:,} retried, {total.escalated:,} escalated",
            change=relative(total.tasks, before.tasks) if before else None,
            spark=[row.tasks if row else None for row in rows],
            url=requests,
            term="task",
        ),
        KeyFigure(
            label="Spent on decided tasks",
            value=money_words(total.total, total.currency, at_least=total.partial),
            note=total.reason if total.partial else "serving and review",
            change=compared(total, before, "total"),
            spark=[known(row.total) if row else None for row in rows],
        ),
    ]


def _note(total: TaskCostRow) -> str:
    if total.partial:
        return total.reason
    return "small sample" if total.small_sample else "serving and review, usage basis"


def _answer(state: PageState, total: TaskCostRow, before: TaskCostRow | None) -> str:
    if total.tasks == 0:
        return ""
    if isinstance(total.cost_per_accepted, Unknown):
        return f"What an accepted task cost is not known: {total.cost_per_accepted.reason}."
    sentence = f"One accepted task cost {unit_cost_words(total)}"
    sentence += _moved(state, total, before) if before is not None else ""
    review = _share(total.review, total.total)
    if review and review >= 0.01:
        sentence += f"; {words.share(review)} of the money paid for review"
    again = [span for span in bridge(total) if span.level == "step"][1:]
    share, name = max((span.of_serving or 0.0, span.name.lower()) for span in again)
    if share >= 0.01:
        sentence += f"; {words.share(share)} of serving went to {name}"
    return sentence + "."


def _moved(state: PageState, total: TaskCostRow, before: TaskCostRow) -> str:
    """What the cost of an accepted task was before, and which step of the bridge made most of the change."""
    change = compared(total, before, "cost_per_accepted")
    if change is None or change.ratio is None or isinstance(before.cost_per_accepted, Unknown):
        return ""
    if change.ratio == 0:
        return f", as in {state.period.before_name}"
    was = words.money(before.cost_per_accepted, before.currency or "USD")
    sentence = f", {moved(change.ratio)} on {state.period.before_name}, when it was {was}"
    cause = most_of(_steps(total), _steps(before))
    if cause is not None:
        sentence += f"; {words.share(cause[1])} of the {'rise' if change.ratio > 0 else 'fall'} is {cause[0].lower()}"
    return sentence


def _steps(row: TaskCostRow) -> dict[str, Money]:
    return {span.name: span.per_accepted for span in bridge(row) if span.level in ("step", "part")}
