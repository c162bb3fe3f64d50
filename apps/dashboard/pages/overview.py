"""The overview: is anything costing or failing more than it should?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Cost, TaskCostRow
from apps.core.histogram import Histogram
from apps.core.query import Ask
from apps.core.unknown import Unknown
from apps.core.vocabulary import Component
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.change import points, relative
from apps.dashboard.pages import groups
from apps.dashboard.pages.parts import (
    STREAMED,
    KeyFigure,
    QuantileFigure,
    Spark,
    by_bucket,
    compared,
    finished,
    known,
    none_is_zero,
    quantile_figure,
    rate,
    starts_of,
)
from apps.dashboard.pages.wording import coverage_words, money_words, moved, unit_cost_words
from apps.dashboard.state import PageState
from apps.rollups import selectors as rollups

if TYPE_CHECKING:
    from apps.rollups.selectors import Usage

COMPONENTS = (
    (Component.SHARED, "Used by requests", "@series-1"),
    (Component.UNATTRIBUTED, "Unattributed", "@series-4"),
    (Component.IDLE, "Idle", "@series-other"),
    (Component.LOAD, "Loading", "@series-3"),
    (Component.DOWN, "Down", "@series-2"),
)
"""Parts of the spend, bottom up, with their colours on every page."""
NO_REQUESTS = "no requests in this range"


@dataclass(frozen=True, slots=True)
class Overview:
    answer: str
    figures: list[KeyFigure]
    latencies: list[QuantileFigure]
    chart: charts.Chart
    table: groups.GroupTable
    coverage: float | Unknown
    is_empty: bool


@dataclass(frozen=True, slots=True)
class _Sums:
    """Totals now and before, and by bucket."""

    usage: Usage | None
    usage_before: Usage | None
    usages: list[Usage]
    cost: Cost
    cost_before: Cost | None
    costs: list[Cost]
    tasks: TaskCostRow
    tasks_before: TaskCostRow | None
    task_rows: list[TaskCostRow]
    spent: groups.Spending
    used: list[Usage]
    coverage: float | Unknown


def build(state: PageState) -> Overview:
    sums = _read(state)
    is_empty = sums.usage is None and not sums.cost.seconds
    return Overview(
        answer="" if is_empty else _answer(state, sums),
        figures=_figures(state, sums),
        latencies=_latencies(state, sums),
        chart=spend_chart(state, sums.costs, sums.cost_before),
        table=groups.table(state, _grouping(state), sums.spent, sums.used),
        coverage=sums.coverage,
        is_empty=is_empty,
    )


def _grouping(state: PageState) -> groups.Grouping:
    return next(g for g in groups.GROUPINGS if g == state.choices["by"])


def _read(state: PageState) -> _Sums:
    when, kept = state.period, state.filters
    by = _grouping(state)
    earlier = [Ask(when.before)] if when.before is not None else []
    buckets, used, *before = rollups.usage_of(
        [Ask(when.window, (), when.bucket), Ask(when.window, (by,)), *earlier], kept, STREAMED
    )
    spent = groups.spending(state, by)
    (tasks,), task_rows, *tasks_before = attribution.task_costs_of(
        [Ask(when.window), Ask(when.window, (), when.bucket), *earlier], kept, state.now
    )
    return _Sums(
        usage=rollups.merged(buckets),
        usage_before=rollups.merged(before[0]) if before else None,
        usages=buckets,
        cost=spent.total,
        cost_before=spent.before,
        costs=spent.buckets,
        tasks=tasks,
        tasks_before=tasks_before[0][0] if tasks_before else None,
        task_rows=task_rows,
        spent=spent,
        used=used,
        coverage=rollups.covered(rollups.coverage(when.window, kept.replica)),
    )


def _figures(state: PageState, sums: _Sums) -> list[KeyFigure]:
    return [_spend(state, sums), _per_task(state, sums), *_traffic(state, sums)]


def _spend(state: PageState, sums: _Sums) -> KeyFigure:
    cost, before = sums.cost, sums.cost_before
    buckets = by_bucket(sums.costs)
    notes = [f"{words.share(float(cost.utilisation))} of it used"] if isinstance(cost.utilisation, Decimal) else []
    if cost.partial:
        notes = [f"without {words.hours(cost.unpriced_seconds)} of replicas: {cost.reason}"]
    return KeyFigure(
        label="Spend",
        value=money_words(cost.amount, cost.currency, at_least=cost.partial),
        note="; ".join([*notes, coverage_words(sums.coverage)]),
        change=relative(cost.amount, before.amount) if before else None,
        spark=[known(buckets[s].amount) if s in buckets else None for s in finished(state)],
        url=state.url("/teams"),
        term="allocation-basis",
    )


def _per_task(state: PageState, sums: _Sums) -> KeyFigure:
    tasks, before = sums.tasks, sums.tasks_before
    buckets = by_bucket(sums.task_rows)
    sample = f"{tasks.accepted:,} accepted of {tasks.decided:,} decided"
    sample += " · small sample" if tasks.small_sample and tasks.accepted else ""
    return KeyFigure(
        label="Cost per accepted task",
        value=money_words(tasks.cost_per_accepted, tasks.currency, at_least=tasks.partial),
        note="; ".join(part for part in (sample, tasks.reason if tasks.partial else "") if part),
        change=compared(tasks, before, "cost_per_accepted", "down"),
        spark=[known(buckets[s].cost_per_accepted) if s in buckets else None for s in finished(state)],
        url=state.url("/tasks"),
        term="cost-per-accepted-task",
    )


def _traffic(state: PageState, sums: _Sums) -> list[KeyFigure]:
    usage, before = sums.usage, sums.usage_before
    buckets = by_bucket(sums.usages)
    rows = [buckets.get(start) for start in finished(state)]
    counts = [(buckets.get(start), none_is_zero(state, start)) for start in finished(state)]
    if usage is None:
        nothing = Unknown(NO_REQUESTS)
        return [KeyFigure(label, nothing) for label in ("Requests", "Tokens", "Error rate")]
    tokens = usage.input_tokens + usage.output_tokens
    errors = rate(usage.failed_calls, usage.calls, NO_REQUESTS)
    return [
        KeyFigure(
            label="Requests",
            value=words.compact(usage.calls),
            note=f"client requests, in {words.compact_counted(usage.attempts, 'attempt')}",
            change=relative(usage.calls, before.calls) if before else None,
            spark=[row.calls if row else nothing for row, nothing in counts],
            url=state.url("/requests"),
            term="requests",
        ),
        KeyFigure(
            label="Tokens",
            value=words.compact(tokens),
            note=f"{words.compact(usage.input_tokens)} in, {words.compact(usage.output_tokens)} out",
            change=relative(tokens, before.input_tokens + before.output_tokens) if before else None,
            spark=[row.input_tokens + row.output_tokens if row else nothing for row, nothing in counts],
            url=state.url("/models"),
            term="tokens",
        ),
        KeyFigure(
            label="Error rate",
            value=errors if isinstance(errors, Unknown) else words.share(errors),
            note=f"{words.counted(usage.failed_calls, 'request')} failed on our side",
            change=points(errors, rate(before.failed_calls, before.calls, NO_REQUESTS), "down") if before else None,
            spark=[known(rate(row.failed_calls, row.calls, NO_REQUESTS)) if row else None for row in rows],
            url=state.url("/requests", outcome="failed"),
            term="error-rate",
        ),
    ]


def _latencies(state: PageState, sums: _Sums) -> list[QuantileFigure]:
    usage, before = sums.usage, sums.usage_before
    rows = by_bucket(sums.usages)
    starts = finished(state)

    def spark(name: str) -> Spark:
        return [getattr(rows[start], name).quantile(0.95) if start in rows else None for start in starts]

    empty = Histogram()
    return [
        quantile_figure(
            "Time to first token",
            usage.ttft if usage else empty,
            before.ttft if before else None,
            spark("ttft"),
            "ttft",
        ),
        quantile_figure(
            "Time between tokens", usage.itl if usage else empty, before.itl if before else None, spark("itl"), "itl"
        ),
    ]


def spend_chart(state: PageState, costs: list[Cost], before: Cost | None = None) -> charts.Chart:
    """Spend by component over the buckets of the range; hours that are not attributed are gaps."""
    starts = _starts(state)
    rows = by_bucket(costs)
    currency = next((cost.currency for cost in costs if cost.currency), "USD")
    series = [
        charts.Series(name, [known(rows[s].components[part]) if s in rows else None for s in starts], colour)
        for part, name, colour in COMPONENTS
        if any(s in rows and known(rows[s].components[part]) for s in starts)
    ]
    times = charts.Times.of(starts, state.period.bucket, state.period.window, state.period.unfinished)
    caption = f"Spend per {state.period.bucket}, {currency}"

    def say(value: float) -> str:
        return words.money(Decimal(str(value)), currency)

    return charts.stacked_bars("spend", caption, times, series, say, **charts.money_axis(currency))


def _starts(state: PageState) -> list[datetime]:
    return starts_of(state.period.window, state.period.bucket, state.now)


def _answer(state: PageState, sums: _Sums) -> str:
    """The one sentence: what was spent, what one accepted task cost, and what moved most."""
    cost, tasks = sums.cost, sums.tasks
    if isinstance(cost.amount, Unknown):
        return f"What was spent is not known: {cost.amount.reason}."
    sentence = f"{money_words(cost.amount, cost.currency, at_least=cost.partial)} spent"
    change = relative(cost.amount, sums.cost_before.amount) if sums.cost_before else None
    if change is not None and change.ratio is not None:
        before = state.period.before_name
        sentence += f", {moved(change.ratio)} on {before}" if change.ratio else f", as much as in {before}"
    idle = cost.components[Component.IDLE]
    if isinstance(idle, Decimal) and cost.amount > 0 and idle > 0:
        sentence += f"; {words.share(float(idle / cost.amount))} of it paid for idle GPUs"
    if isinstance(tasks.cost_per_accepted, Decimal):
        sentence += f". One accepted task cost {unit_cost_words(tasks)}"
    return sentence + "."
