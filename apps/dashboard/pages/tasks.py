"""Cost per accepted task: what does one useful result cost, and what is that made of?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Money, TaskCostRow
from apps.core.unknown import Unknown
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.change import Change, points, relative
from apps.dashboard.pages.groups import GROUPINGS, Grouping
from apps.dashboard.pages.parts import KeyFigure, by_bucket, by_id, known, starts_of
from apps.dashboard.pages.wording import money_words, moved
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


@dataclass(frozen=True, slots=True)
class TasksPage:
    answer: str
    figures: list[KeyFigure]
    bridge: list[Span]
    fates: list[Fate]
    cost_chart: charts.Chart
    rate_chart: charts.Chart
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
    rows = _rows(state)
    return TasksPage(
        answer=_answer(state, total, before),
        figures=_figures(state, total, before, buckets),
        bridge=bridge(total),
        fates=_fates(total),
        cost_chart=_cost_chart(state, buckets),
        rate_chart=_rate_chart(state, buckets),
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


def bridge(total: TaskCostRow) -> list[Span]:
    """The steps from the first tries to the total, each beginning where the last one ended."""
    steps = (
        ("First tries", "the first attempt of every step", total.compute),
        ("Retries", "the same model again", total.retries),
        ("Fallbacks", "the gateway went on to another model", total.fallbacks),
        ("Escalations", "the client tried again on another model", total.escalations),
        ("Review", f"{words.compact(float(total.review_minutes))} minutes by people", total.review),
    )
    whole = known(total.total)
    spans, reached = [], 0.0
    for name, meaning, amount in steps:
        part = known(amount)
        width = part / whole * 100 if part is not None and whole else 0.0
        per = _per(amount, total)
        spans.append(Span(name, meaning, amount, per, width / 100 if whole else None, reached, width))
        reached += width
    all_of_it = 1.0 if whole else None
    return [
        *spans,
        Span("Total", "of decided tasks", total.total, total.cost_per_accepted, all_of_it, 0.0, 100.0, is_total=True),
    ]


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
    starts = _starts(state)
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
    starts = _starts(state)
    currency = next((row.currency for row in buckets.values() if row.currency), "USD")

    def say(value: float) -> str:
        return words.money(Decimal(str(value)), currency)

    both = [
        charts.Series(
            "Serving and review",
            [known(buckets[s].cost_per_accepted) if s in buckets else None for s in starts],
            "@series-1",
        ),
        charts.Series(
            "Serving alone",
            [known(buckets[s].serving_per_accepted) if s in buckets else None for s in starts],
            "@series-2",
            "dash",
        ),
    ]
    caption = f"Cost per accepted task by {state.period.bucket} of the first request, {currency}"
    return charts.lines("task-cost", caption, _times(state), both, say)


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
    parts = [(span.share or 0.0, span.name.lower()) for span in bridge(total)[1:-1]]
    share, name = max(parts)
    if share >= 0.01:
        sentence += f"; {words.share(share)} of the money went to {name}"
    return sentence + "."
