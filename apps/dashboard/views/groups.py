"""Tables of teams, endpoints and models, and the page of one of them."""

from __future__ import annotations

from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from apps.core.query import NONE_GIVEN
from apps.dashboard import csv_file
from apps.dashboard import format as words
from apps.dashboard.access import require
from apps.dashboard.pages import group, groups
from apps.dashboard.pages.overview import spend_chart
from apps.dashboard.pages.parts import STREAMED, known
from apps.dashboard.pages.wording import as_shown, coverage_words, money_words
from apps.dashboard.state import PageState, read
from apps.dashboard.views.exports import export_links
from apps.dashboard.views.respond import respond
from apps.dashboard.views.tables import TableView, group_csv, group_view
from apps.rollups import selectors as rollups

BREAKDOWN: dict[groups.Grouping, groups.Grouping] = {"team": "endpoint", "endpoint": "model", "model": "endpoint"}
"""By what the page of one of them is divided."""
HEADINGS: dict[groups.Grouping, str] = {"team": "Teams", "endpoint": "Endpoints", "model": "Models"}


@require("costs")
def table(request: HttpRequest, dimension: groups.Grouping) -> HttpResponse:
    state = read(request, choices={"sort": groups.SORTS})
    when = state.period
    spent = groups.spending(state, dimension)
    total = spent.total
    used = rollups.usage(window=when.window, group_by=(dimension,), filters=state.filters, latencies=STREAMED)
    data = groups.table(state, dimension, spent, used, state.choices["sort"])
    coverage = rollups.covered(rollups.coverage(when.window, state.filters.replica))
    if csv_file.is_asked(request.GET.get("format")):
        return group_csv(state, data, coverage)
    shown = group_view(state, data, f"Cost and use by {dimension}", sortable=True)
    context = {
        "table": shown,
        "currency": total.currency,
        "compared": when.before is not None,
        "chart": spend_chart(state, spent.buckets),
        "is_empty": data.usage is None and not total.seconds,
        "coverage": coverage_words(coverage),
        "exports": export_links(state, "costs", dimension),
    }
    return respond(
        request,
        state,
        "pages/groups.html",
        context,
        heading=HEADINGS[dimension],
        answer=_answer(dimension, shown, total.currency),
        with_charts=True,
    )


def _answer(dimension: groups.Grouping, shown: TableView, currency: str) -> str:
    """Who cost most, with the amount as its cell has it, and how many there are."""
    dearest, cell = max(shown.rows, key=lambda pair: known(pair[0].cost) or 0.0, default=(None, ""))
    if dearest is None or not known(dearest.cost):
        return ""
    cost = money_words(as_shown(cell, dearest.cost), currency)
    return f"{dearest.name} costs most of {words.counted(len(shown.rows), dimension)}: {cost} of busy GPU time."


@require("costs")
def detail(request: HttpRequest, dimension: groups.Grouping, slug: str) -> HttpResponse:
    state = read(request)
    noun = next((n for n in state.offered[dimension].values() if n.slug == slug), None)
    if noun is None or (dimension == "team" and not state.viewer.sees_team(noun.id)):
        raise Http404(f"no {dimension} is called {slug}")
    state = _only(state, dimension, noun.id, slug)
    shown = group.build(state, noun.name, BREAKDOWN[dimension])
    if csv_file.is_asked(request.GET.get("format")):
        return group_csv(state, shown.table)
    context = {
        "page": shown,
        "table": group_view(state, shown.table, f"By {BREAKDOWN[dimension]}", sortable=False),
        "compared": state.period.before is not None,
        "exports": export_links(state, "costs", BREAKDOWN[dimension]),
        "currency": shown.currency,
        "crumb": HEADINGS[dimension],
        "crumb_url": state.url(reverse(f"{dimension}s"), **{dimension: None}),
        "requests_url": state.url(reverse("requests")),
        "claimed": noun.claimed or noun.id == NONE_GIVEN,
    }
    return respond(
        request, state, "pages/group.html", context, heading=noun.name, answer=shown.answer, with_charts=True
    )


def _only(state: PageState, dimension: groups.Grouping, noun_id: int, slug: str) -> PageState:
    """The state limited to one noun, which links to other pages carry along."""
    kept = replace(state.filters, **{dimension: frozenset({noun_id})}).limited_to_teams(state.viewer.teams)
    applied = tuple(a for a in state.selection.applied if a.dimension != dimension)
    selection = replace(state.selection, applied=applied, query={**state.selection.query, dimension: slug})
    names = {d: n for d, n in state.names.items() if d != dimension}
    return replace(state, filters=kept, selection=selection, names=names, pinned=dimension)
