"""The page of cost per accepted task."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.dashboard.access import require
from apps.dashboard.columns import Head, columns
from apps.dashboard.pages import tasks
from apps.dashboard.pages.groups import GROUPINGS
from apps.dashboard.pages.wording import places
from apps.dashboard.state import PageState, read
from apps.dashboard.views.exports import export_links
from apps.dashboard.views.respond import respond
from apps.dashboard.views.tables import groupings


@require("costs")
def page(request: HttpRequest) -> HttpResponse:
    state = read(request, choices={"by": ("endpoint", "team", "model"), "sort": tasks.SORTS})
    shown = tasks.build(state)
    context = {
        "page": shown,
        "columns": columns(state, _heads(state, shown.total.currency or "USD")),
        "groupings": [option for option in groupings(state) if option.text.rstrip("s") in GROUPINGS],
        "currency": shown.total.currency,
        "places": places(shown.total.total),
        "unit_places": 4,
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
