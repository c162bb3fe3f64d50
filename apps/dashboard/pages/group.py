"""One team, endpoint or model: how much, how often wrong, how slow, what it cost, and what of that was waste."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from apps.attribution import selectors as attribution
from apps.attribution.selectors import Cost, Money, TaskCostRow
from apps.core.histogram import Histogram
from apps.core.query import Ask
from apps.core.unknown import Unknown
from apps.core.vocabulary import StatusGroup, Work
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.change import points, relative
from apps.dashboard.pages import groups
from apps.dashboard.pages.groups import shared
from apps.dashboard.pages.parts import (
    QUANTILES,
    KeyFigure,
    QuantileFigure,
    by_bucket,
    finished,
    known,
    none_is_zero,
    quantile_figure,
    rate,
    starts_of,
)
from apps.dashboard.pages.wording import money_words
from apps.dashboard.state import PageState
from apps.rollups import selectors as rollups

if TYPE_CHECKING:
    from apps.rollups.selectors import Usage

NO_REQUESTS = "no requests in this range"


@dataclass(frozen=True, slots=True)
class Waste:
    """A part of the shared cost that bought no first try that ended well."""

    name: str
    meaning: str
    amount: Money
    share: float | None
    url: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    name: str
    attempts: int
    share: float | Unknown
    url: str


@dataclass(frozen=True, slots=True)
class GroupPage:
    answer: str
    figures: list[KeyFigure]
    latencies: list[QuantileFigure]
    charts: list[charts.Chart]
    waste: list[Waste]
    endings: list[Ending]
    currency: str
    table: groups.GroupTable
    tasks: TaskCostRow
    is_empty: bool


def build(state: PageState, name: str, inner: groups.Grouping) -> GroupPage:
    """`state.filters` already keep only this one; its table is by `inner`."""
    when, kept = state.period, state.filters
    earlier = [Ask(when.before)] if when.before is not None else []
    usages, used, *befores = rollups.usage_of(
        [Ask(when.window, (), when.bucket), Ask(when.window, (inner,)), *earlier], kept
    )
    usage, buckets = rollups.merged(usages), by_bucket(usages)
    before = rollups.merged(befores[0]) if befores else None
    spent = groups.spending(state, inner)
    cost, cost_before, costs = spent.total, spent.before, by_bucket(spent.buckets)
    used_up = shared(cost) if spent.groups else groups.NOTHING_ATTRIBUTED
    tasks = attribution.task_costs(window=when.window, filters=kept, now=state.now)[0]
    return GroupPage(
        answer=_answer(name, cost, used_up, usage),
        figures=[_spent(state, cost, cost_before, used_up, costs), *_figures(state, usage, before, tasks, buckets)],
        latencies=_latencies(usage, before),
        charts=_charts(state, buckets, costs, cost.currency),
        waste=_waste(state, cost),
        endings=_endings(state, usage) if usage else [],
        currency=cost.currency,
        table=groups.table(state, inner, spent, used),
        tasks=tasks,
        is_empty=usage is None and not cost.seconds,
    )


def _spent(
    state: PageState, cost: Cost, before: Cost | None, used_up: Money, buckets: dict[datetime, Cost]
) -> KeyFigure:
    spark = [known(shared(buckets[s])) if s in buckets else none_is_zero(state, s) for s in finished(state)]
    return KeyFigure(
        label="Cost of its requests",
        value=money_words(used_up, cost.currency, at_least=cost.partial),
        note="their share of busy GPU time",
        change=relative(used_up, shared(before)) if before else None,
        spark=[] if isinstance(used_up, Unknown) else spark,
        term="shared",
    )


def _figures(
    state: PageState, usage: Usage | None, before: Usage | None, tasks: TaskCostRow, buckets: dict[datetime, Usage]
) -> list[KeyFigure]:
    starts = finished(state)
    rows = [buckets.get(start) for start in starts]
    counts = [(buckets.get(start), none_is_zero(state, start)) for start in starts]
    began = f"{tasks.accepted:,} accepted of {tasks.decided:,} decided tasks that began here"
    per_task = KeyFigure(
        label="Cost per accepted task",
        value=money_words(tasks.cost_per_accepted, tasks.currency, at_least=tasks.partial),
        note=f"{began}; {tasks.reason}" if tasks.partial else began,
        url=state.url("/tasks"),
        term="cost-per-accepted-task",
    )
    if usage is None:
        return [per_task]
    errors = rate(usage.failed_calls, usage.calls, NO_REQUESTS)
    tokens = usage.input_tokens + usage.output_tokens
    return [
        per_task,
        KeyFigure(
            label="Requests",
            value=words.compact(usage.calls),
            note="client requests that came here",
            change=relative(usage.calls, before.calls) if before else None,
            spark=[row.calls if row else nothing for row, nothing in counts],
            url=state.url("/requests"),
            term="requests",
        ),
        KeyFigure(
            label="Attempts",
            value=words.compact(usage.attempts),
            note=f"{_failed(usage)} of them failed on our side, retries and fallbacks included",
            change=relative(usage.attempts, before.attempts) if before else None,
            spark=[row.attempts if row else nothing for row, nothing in counts],
            url=state.url("/requests"),
            term="requests",
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
        KeyFigure(
            label="Tokens",
            value=words.compact(tokens),
            note=_cached(usage),
            change=relative(tokens, before.input_tokens + before.output_tokens) if before else None,
            spark=[row.input_tokens + row.output_tokens if row else nothing for row, nothing in counts],
            term="tokens",
        ),
    ]


def _failed(usage: Usage) -> str:
    failed = usage.server_error + usage.timeout + usage.partial
    return words.share(failed / usage.attempts) if usage.attempts else "none"


def _cached(usage: Usage) -> str:
    text = f"{words.compact(usage.input_tokens)} in, {words.compact(usage.output_tokens)} out"
    share = known(rate(usage.cache_read_tokens, usage.input_tokens, NO_REQUESTS))
    return text if share is None else f"{text}; {words.share(share)} of input from cache"


def _latencies(usage: Usage | None, before: Usage | None) -> list[QuantileFigure]:
    named = (
        ("Time to first token", "ttft", "ttft"),
        ("Time between tokens", "itl", "itl"),
        ("Whole answer", "e2e", ""),
    )
    return [
        quantile_figure(
            label, getattr(usage, name) if usage else Histogram(), getattr(before, name) if before else None, (), term
        )
        for label, name, term in named
    ]


def _charts(
    state: PageState, buckets: dict[datetime, Usage], costs: dict[datetime, Cost], currency: str
) -> list[charts.Chart]:
    when = state.period
    starts = starts_of(when.window, when.bucket, state.now)
    times = charts.Times.of(starts, when.bucket, when.window, when.unfinished)
    rows = [buckets.get(start) for start in starts]

    def dollars(value: float) -> str:
        return words.money(Decimal(str(value)), currency or "USD")

    ttft = [
        charts.Series(word, [row.ttft.quantile(q) if row else None for row in rows], colour, dash)
        for (word, q), colour, dash in zip(QUANTILES, charts.SERIES, charts.DASHES, strict=False)
    ]
    requests = [
        charts.Series("Ended well", [row.calls - row.failed_calls if row else None for row in rows], charts.SERIES[0]),
        charts.Series("Failed on our side", [row.failed_calls if row else None for row in rows], charts.SERIES[1]),
    ]
    cost = [charts.Series("Cost", [known(shared(costs[s])) if s in costs else None for s in starts], charts.SERIES[0])]
    axis = charts.money_axis(currency)
    say_count: Callable[[float], str] = words.compact
    return [
        charts.stacked_bars("requests", f"Client requests per {when.bucket}", times, requests, say_count),
        charts.lines("ttft", "Time to first token, seconds", times, ttft, words.seconds, short=True),
        charts.stacked_bars("cost", f"Cost per {when.bucket}, {currency or 'USD'}", times, cost, dollars, **axis),
    ]


def _waste(state: PageState, cost: Cost) -> list[Waste]:
    whole = known(shared(cost))
    parts: tuple[tuple[str, str, Money, dict[str, str]], ...] = (
        ("Retries", "the same model again", cost.work[Work.RETRY], {}),
        ("Fallbacks", "the gateway went on to another model", cost.work[Work.FALLBACK], {}),
        ("Escalations", "the client tried again on another model", cost.work[Work.ESCALATION], {}),
        ("Aborted", "the client hung up", cost.status[StatusGroup.ABORTED], {"outcome": "aborted"}),
        ("Failed", "ended in an error of ours", cost.status[StatusGroup.FAILED], {"outcome": "failed"}),
    )
    rows = []
    for name, meaning, amount, query in parts:
        part = known(amount)
        share = part / whole if part is not None and whole else None
        url = state.url("/requests", **query) if query else ""
        rows.append(Waste(name, meaning, amount, share, url))
    waste = known(cost.waste)
    share = waste / whole if waste is not None and whole else None
    return [*rows, Waste("Any of these", "one attempt may be several of them", cost.waste, share)]


def _endings(state: PageState, usage: Usage) -> list[Ending]:
    named = (
        ("Ok", "ok"),
        ("Refused as wrong (4xx)", "client_error"),
        ("Refused by a limit (429)", "rate_limited"),
        ("Server error", "server_error"),
        ("Timed out", "timeout"),
        ("Client hung up", "aborted"),
        ("Broke off in the middle", "partial"),
    )
    return [
        Ending(
            text,
            getattr(usage, name),
            rate(getattr(usage, name), usage.attempts, NO_REQUESTS),
            state.url("/requests", outcome=name),
        )
        for text, name in named
        if getattr(usage, name) or name == "ok"
    ]


def _answer(name: str, cost: Cost, amount: Money, usage: Usage | None) -> str:
    if usage is None:
        return ""
    if isinstance(amount, Unknown):
        return f"What {name} cost is not known: {amount.reason}."
    sentence = f"{name} used {words.money(amount, cost.currency or 'USD')} of busy GPU time"
    sentence += f" for {words.compact_counted(usage.calls, 'request')}"
    waste = cost.waste
    if isinstance(waste, Decimal) and amount > 0 and waste / amount >= Decimal("0.005"):
        sentence += f"; {words.share(float(waste / amount))} of it went to retries, fallbacks, escalations and failures"
    return sentence + "."
