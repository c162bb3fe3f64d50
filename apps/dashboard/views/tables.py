"""The group table as templates want it: heads that sort, links that group, the cells of its total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpResponse

from apps.core.unknown import Unknown
from apps.dashboard import csv_file
from apps.dashboard.change import Change
from apps.dashboard.columns import Column, Head, columns
from apps.dashboard.pages.groups import GROUPINGS, GroupRow, GroupTable, Remainder
from apps.dashboard.pages.parts import quantile, rate
from apps.dashboard.pages.wording import adding_up, places
from apps.dashboard.state import PageState
from apps.dashboard.views.respond import Option

NO_REQUESTS = "no requests in this range"


@dataclass(frozen=True, slots=True)
class TableView:
    heading: str
    data: GroupTable
    rows: list[tuple[GroupRow, str | Unknown]]
    remainders: list[tuple[Remainder, str | Unknown]]
    """With the cell of the cost: cells add up to the total as shown."""
    places: int
    columns: list[Column]
    groupings: list[Option]
    error_rate: float | Unknown
    tokens: int | Unknown
    cached: float | Unknown
    ttft_p95: float | Unknown
    itl_p95: float | Unknown


def group_view(state: PageState, data: GroupTable, heading: str, *, sortable: bool) -> TableView:
    usage = data.usage
    nothing = Unknown(NO_REQUESTS)
    decimals = places(data.total.amount)
    parts = [row.cost for row in data.rows] + [row.cost for row in data.remainders]
    cells = adding_up(parts, data.total.amount, decimals)
    return TableView(
        heading=heading,
        data=data,
        rows=list(zip(data.rows, cells, strict=False)),
        remainders=list(zip(data.remainders, cells[len(data.rows) :], strict=True)),
        places=decimals,
        columns=columns(state, _heads(state, data, sortable)),
        groupings=groupings(state),
        error_rate=rate(usage.failed_calls, usage.calls, NO_REQUESTS) if usage else nothing,
        tokens=usage.input_tokens + usage.output_tokens if usage else nothing,
        cached=rate(usage.cache_read_tokens, usage.input_tokens, NO_REQUESTS) if usage else nothing,
        ttft_p95=quantile(usage.ttft, 0.95) if usage else nothing,
        itl_p95=quantile(usage.itl, 0.95) if usage else nothing,
    )


def group_csv(state: PageState, data: GroupTable, coverage: float | Unknown | None = None) -> HttpResponse:
    """The rows of the table as a file, in the order shown: groups, remainders, total."""
    columns = [
        data.dimension,
        "row",
        csv_file.money("cost", data.total.currency),
        "cost_change_ratio",
        "requests",
        "attempts",
        "error_ratio",
        "tokens",
        "cached_input_ratio",
        "ttft_p95_seconds",
        "itl_p95_seconds",
        "cost_is_partial",
    ]
    provenance: dict[str, csv_file.Cell] = {"basis": "allocation", "coverage_ratio": coverage}
    return csv_file.respond(state, f"costs-by-{data.dimension}", columns, _csv_rows(state, data), provenance)


def _csv_rows(state: PageState, data: GroupTable) -> Iterator[Sequence[csv_file.Cell]]:
    for row in data.rows:
        latencies = (row.ttft_p95, row.itl_p95)
        used = (row.requests, row.attempts, row.error_rate, row.tokens, row.cached)
        yield row.name, "group", row.cost, _ratio(row.change), *used, *latencies, None
    for rest in data.remainders:
        yield rest.name, "remainder", rest.cost, _ratio(rest.change), *(None,) * 8
    view = group_view(state, data, "", sortable=False)
    usage, partial = data.usage, str(data.total.partial).lower()
    counts = (usage.calls if usage else 0, usage.attempts if usage else 0, view.error_rate, view.tokens, view.cached)
    yield "Total", "total", data.total.amount, None, *counts, view.ttft_p95, view.itl_p95, partial


def _ratio(change: Change | None) -> float | None:
    return change.ratio if change is not None else None


def groupings(state: PageState) -> list[Option]:
    """Links to the same page grouped by team, endpoint or model; none where the page has no such choice."""
    if "by" not in state.choices:
        return []
    return [Option(f"{by}s", state.url(by=by), state.choices["by"] == by) for by in GROUPINGS]


def _heads(state: PageState, data: GroupTable, sortable: bool) -> Sequence[Head]:
    currency = data.total.currency or "USD"
    heads = [
        Head(data.dimension.capitalize(), "name", "-name", number=False),
        Head(f"Cost, {currency}", "-cost", "cost"),
        Head(""),
        Head("Change"),
        Head(f"per {state.period.bucket}", number=False),
        Head("Requests", "-requests"),
        Head("Errors", "-errors"),
        Head("Tokens", "-tokens"),
        Head("Cached input", "-cached"),
        Head("TTFT p95", "-ttft"),
        Head("ITL p95", "-itl"),
    ]
    if state.period.before is None:
        heads = [head for head in heads if head.name != "Change"]
    return heads if sortable else [Head(head.name, number=head.number) for head in heads]
