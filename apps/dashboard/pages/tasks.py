"""Cost per accepted task: what does one useful result cost, and what is that made of?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Money, TaskCostRow
from apps.core.unknown import Unknown
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.change import Change, points, relative
from apps.dashboard.pages.groups import GROUPINGS, Grouping
from apps.dashboard.pages.parts import KeyFigure, by_bucket, by_id, finished, known, starts_of
from apps.dashboard.pages.wording import adding_up, money_words, moved, places
from apps.dashboard.state import PageState

SORTS = ("-cost", "-per", "per", "-tasks", "acceptance", "name")


@dataclass(frozen=True, slots=True)
class Span:
    """One step of the bridge: its amount, its share of the total, and where its bar begins and ends, 0 to 100."""

    name: str
    meaning: str
    amount: Money
    per_accepted: Money
    share: float | None
    start: float
    width: float
    is_total: bool = False


@dataclass(frozen=True, slots=True)
class Bridge:
    name: str
    spans: list[Span]


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


@dataclass(frozen=True, slots=True)
class TasksPage:
    answer: str
    figures: list[KeyFigure]
    bridges: list[Bridge]
    fates: list[Fate]
    cost_chart: charts.Chart
    side_charts: list[charts.Chart]
    rows: list[TaskRow]
    total: TaskCostRow
    top: float | None
    is_empty: bool


def build(state: PageState) -> TasksPage:
    when, kept = state.period, state.filters
    total = attribution.task_costs(window=when.window, filters=kept, now=state.now)[0]
    before = (
        attribution.task_costs(window=when.before, filters=kept, now=state.now)[0] if when.before is not None else None
    )
    buckets = by_bucket(attribution.task_costs(window=when.window, bucket=when.bucket, filters=kept, now=state.now))
    rows = _with_cells(_rows(state), total)
    return TasksPage(
        answer=_answer(state, total, before),
        figures=_figures(state, total, before, buckets),
        bridges=bridge(total),
        fates=_fates(total),
        cost_chart=_cost_chart(state, buckets),
        side_charts=[_serving_chart(state, buckets), _rate_chart(state, buckets)],
        rows=rows,
        total=total,
        top=max((known(row.row.cost_per_accepted) or 0.0 for row in rows), default=None),
        is_empty=total.tasks == 0,
    )


def _rows(state: PageState) -> list[TaskRow]:
    when = state.period
    dimension: Grouping = next(g for g in GROUPINGS if g == state.choices["by"])
    found = attribution.task_costs(window=when.window, group_by=(dimension,), filters=state.filters, now=state.now)
    earlier: dict[int, TaskCostRow] = {}
    if when.before is not None:
        earlier = by_id(
            attribution.task_costs(window=when.before, group_by=(dimension,), filters=state.filters, now=state.now),
            dimension,
        )
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


def _with_cells(rows: list[TaskRow], total: TaskCostRow) -> list[TaskRow]:
    """The rows with their cells of money, which add up to the cells of the total."""
    decimals = places(total.total)
    costs = adding_up([row.row.total for row in rows], total.total, decimals)
    reviews = adding_up([row.row.review for row in rows], total.review, decimals)
    return [replace(row, cost=cost, review=review) for row, cost, review in zip(rows, costs, reviews, strict=True)]


def _change(now: TaskCostRow, before: TaskCostRow | None) -> Change | None:
    """Nothing is said of a change between small samples."""
    if before is None or now.small_sample or before.small_sample:
        return None
    return relative(now.cost_per_accepted, before.cost_per_accepted, "down")


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


def bridge(total: TaskCostRow) -> list[Bridge]:
    """Serving built up from its steps, then the total from serving and review: each on a scale of its own.

    On one scale the smaller of the two would not be seen.
    """
    minutes = f"{words.compact(float(total.review_minutes))} minutes by people"
    serving = (
        ("First tries", "the first attempt of every step", total.compute),
        ("Retries", "the same model again", total.retries),
        ("Fallbacks", "the gateway went on to another model", total.fallbacks),
        ("Escalations", "the client tried again on another model", total.escalations),
    )
    both = (("Serving", "all attempts", total.serving), ("Review", minutes, total.review))
    return [
        _bridge("Serving", serving, ("Serving", "", total.serving), total),
        _bridge("Serving and review", both, ("Total", "of decided tasks", total.total), total),
    ]


def _bridge(
    name: str, steps: Sequence[tuple[str, str, Money]], whole: tuple[str, str, Money], total: TaskCostRow
) -> Bridge:
    """Bars that each begin where the last one ended, and the whole below them."""
    end = known(whole[2])
    spans, reached = [], 0.0
    for step, meaning, amount in steps:
        part = known(amount)
        width = part / end * 100 if part is not None and end else 0.0
        share = width / 100 if end and part is not None else None
        spans.append(Span(step, meaning, amount, _per(amount, total), share, reached, width))
        reached += width
    last = Span(whole[0], whole[1], whole[2], _per(whole[2], total), 1.0 if end else None, 0.0, 100.0, is_total=True)
    return Bridge(name, [*spans, last])


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
            note="small sample" if total.small_sample else "serving and review, usage basis",
            change=relative(total.cost_per_accepted, before.cost_per_accepted, "down") if before else None,
            spark=[known(row.cost_per_accepted) if row else None for row in rows],
            term="cost-per-accepted-task",
        ),
        KeyFigure(
            label="Serving alone",
            value=money_words(total.serving_per_accepted, total.currency, at_least=total.partial),
            note="per accepted task, without review",
            change=relative(total.serving_per_accepted, before.serving_per_accepted, "down") if before else None,
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
            change=relative(total.total, before.total) if before else None,
            spark=[known(row.total) if row else None for row in rows],
        ),
    ]


def _cost_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
    values = [known(buckets[s].cost_per_accepted) if s in buckets else None for s in _starts(state)]
    currency = _currency(buckets)
    caption = f"Cost per accepted task by {state.period.bucket} of the first request, {currency}"
    series = [charts.Series("Cost per accepted task", values, "@series-1")]
    return charts.lines("task-cost", caption, _times(state), series, _say(currency), **charts.money_axis(currency))


def _serving_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
    values = [known(buckets[s].serving_per_accepted) if s in buckets else None for s in _starts(state)]
    currency = _currency(buckets)
    series = [charts.Series("Serving alone", values, "@series-2")]
    caption = f"Of it serving alone, {currency}"
    return charts.lines(
        "task-serving", caption, _times(state), series, _say(currency), short=True, **charts.money_axis(currency)
    )


def _currency(buckets: dict[datetime, TaskCostRow]) -> str:
    return next((row.currency for row in buckets.values() if row.currency), "USD")


def _say(currency: str) -> charts.Say:
    return lambda value: words.money(Decimal(str(value)), currency)


def _rate_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
    starts = _starts(state)
    values = [known(buckets[s].acceptance_rate) if s in buckets else None for s in starts]
    series = [charts.Series("Acceptance rate", values, "@series-3")]
    return charts.lines(
        "task-rate",
        "Acceptance rate of decided tasks",
        _times(state),
        series,
        words.share,
        short=True,
        tickformat=".0%",
        range=[0, 1.02],
    )


def _times(state: PageState) -> charts.Times:
    when = state.period
    return charts.Times.of(_starts(state), when.bucket, when.window, when.unfinished)


def _starts(state: PageState) -> list[datetime]:
    return starts_of(state.period.window, state.period.bucket, state.now)


def _answer(state: PageState, total: TaskCostRow, before: TaskCostRow | None) -> str:
    if total.tasks == 0:
        return ""
    if isinstance(total.cost_per_accepted, Unknown):
        return f"What an accepted task cost is not known: {total.cost_per_accepted.reason}."
    sentence = f"One accepted task cost {words.money(total.cost_per_accepted, total.currency or 'USD')}"
    change = relative(total.cost_per_accepted, before.cost_per_accepted) if before else None
    if change is not None and change.ratio is not None:
        sentence += f", {moved(change.ratio)} on {state.period.before_name}"
    serving, both = bridge(total)
    review = both.spans[1].share
    if review and review >= 0.01:
        sentence += f"; {words.share(review)} of the money paid for review"
    share, name = max((span.share or 0.0, span.name.lower()) for span in serving.spans[1:-1])
    if share >= 0.01:
        sentence += f"; {words.share(share)} of serving went to {name}"
    return sentence + "."
