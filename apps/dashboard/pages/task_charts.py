"""Rows of tasks by bucket become the charts of their cost, of serving alone and of the acceptance rate."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from apps.attribution.selectors import TaskCostRow
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.pages.parts import known, starts_of
from apps.dashboard.state import PageState


def cost_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
    values = [known(buckets[s].cost_per_accepted) if s in buckets else None for s in _starts(state)]
    currency = _currency(buckets)
    caption = f"Cost per accepted task by {state.period.bucket} of the first request, {currency}"
    series = [charts.Series("Cost per accepted task", values, "@series-1")]
    return charts.lines("task-cost", caption, _times(state), series, _say(currency), **charts.money_axis(currency))


def serving_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
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


def rate_chart(state: PageState, buckets: dict[datetime, TaskCostRow]) -> charts.Chart:
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
