"""The page of cost per accepted task."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.attribution.selectors import TaskCostRow
from apps.dashboard import csv_file
from apps.dashboard.access import require
from apps.dashboard.change import Change
from apps.dashboard.columns import Head, columns
from apps.dashboard.pages import tasks
from apps.dashboard.pages.groups import GROUPINGS
from apps.dashboard.pages.wording import coverage_words
from apps.dashboard.state import PageState, read
from apps.dashboard.views.exports import export_links
from apps.dashboard.views.respond import respond
from apps.dashboard.views.tables import groupings


@require("costs")
def page(request: HttpRequest) -> HttpResponse:
    state = read(request, choices={"by": ("endpoint", "team", "model"), "sort": tasks.SORTS})
    shown = tasks.build(state)
    if csv_file.is_asked(request.GET.get("format")):
        return _csv(state, shown)
    context = {
        "page": shown,
        "columns": columns(state, _heads(state, shown.total.row.currency or "USD")),
        "groupings": [option for option in groupings(state) if option.text.rstrip("s") in GROUPINGS],
        "currency": shown.total.row.currency,
        "unit_places": 4,
        "coverage": coverage_words(shown.coverage),
        "exports": export_links(state, "tasks", state.choices["by"]),
        "compared": state.period.before is not None,
    }
    return respond(
        request,
        state,
        "pages/tasks.html",
        context,
        heading="Cost per accepted task",
        answer=shown.answer,
        with_charts=True,
    )


def _csv(state: PageState, shown: tasks.TasksPage) -> HttpResponse:
    """The rows of the table as a file, in the order shown, with the steps that each cost is built up from."""
    currency = shown.total.row.currency
    counts = ("tasks", "accepted", "reworked", "rejected", "expired", "pending")
    parts = ("compute", "retries", "fallbacks", "escalations", "review", "total", "cost_per_accepted")
    columns = [
        state.choices["by"],
        "row",
        *counts,
        "acceptance_ratio",
        *(csv_file.money(part, currency) for part in parts),
        "cost_per_accepted_change_ratio",
        "review_minutes",
        "is_partial",
    ]

    def cells(name: str, kind: str, row: TaskCostRow, change: Change | None) -> list[csv_file.Cell]:
        return [
            name,
            kind,
            *(getattr(row, count) for count in counts),
            row.acceptance_rate,
            *(getattr(row, part) for part in parts),
            change.ratio if change is not None else None,
            row.review_minutes,
            str(row.partial).lower(),
        ]

    rows = [cells(item.name, "group", item.row, item.change) for item in shown.rows]
    rows.append(cells("Total", "total", shown.total.row, None))
    provenance: dict[str, csv_file.Cell] = {"basis": shown.total.row.basis, "coverage_ratio": shown.coverage}
    return csv_file.respond(state, f"cost-per-accepted-task-by-{state.choices['by']}", columns, rows, provenance)


def _heads(state: PageState, currency: str) -> list[Head]:
    heads = [
        Head(state.choices["by"].capitalize(), "name", number=False),
        Head("Tasks", "-tasks"),
        Head("Accepted"),
        Head("Not accepted"),
        Head("Pending"),
        Head("Acceptance", "acceptance"),
        Head(f"Cost, {currency}", "-cost"),
        Head("of it review"),
        Head(f"per accepted task, {currency}", "-per", "per"),
        Head(""),
    ]
    return [*heads, Head("Change")] if state.period.before else heads
