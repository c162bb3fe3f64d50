"""The overview page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.dashboard import csv_file
from apps.dashboard.access import require
from apps.dashboard.pages import groups, overview
from apps.dashboard.pages.health import freshness
from apps.dashboard.pages.wording import coverage_words
from apps.dashboard.state import read
from apps.dashboard.views.exports import export_links
from apps.dashboard.views.respond import respond
from apps.dashboard.views.tables import group_csv, group_view


@require("costs")
def page(request: HttpRequest) -> HttpResponse:
    state = read(request, choices={"by": groups.GROUPINGS})
    shown = overview.build(state)
    if csv_file.is_asked(request.GET.get("format")):
        return group_csv(state, shown.table, shown.coverage)
    context = {
        "page": shown,
        "table": group_view(state, shown.table, "Who and what it was spent on", sortable=False),
        "currency": shown.table.total.currency,
        "compared": state.period.before is not None,
        "freshness": freshness(state),
        "coverage": coverage_words(shown.coverage),
        "exports": export_links(state, "costs", state.choices["by"]),
    }
    return respond(
        request, state, "pages/overview.html", context, heading="Overview", answer=shown.answer, with_charts=True
    )
