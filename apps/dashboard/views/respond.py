"""One page answered twice: whole for a browser, its panel alone for HTMX; both from the same template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from apps.dashboard import filters
from apps.dashboard import format as words
from apps.dashboard.examples import examples
from apps.dashboard.period import PRESETS, Period
from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest

LIVE = 30
"""Seconds until the page of a live range asks again."""
SOON = 5
"""The same for a page to which the first data are on their way."""


@dataclass(frozen=True, slots=True)
class Option:
    text: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class RangeLink:
    key: str
    name: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class RangeGroup:
    name: str
    presets: list[RangeLink]


@dataclass(frozen=True, slots=True)
class Ranges:
    """The range picker: links by group, whether to compare, the resolved range, and what its form must keep."""

    groups: list[RangeGroup]
    compare: list[Option]
    resolved: str
    hidden: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Chip:
    dimension: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class FilterOption:
    slug: str
    text: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FilterChoice:
    dimension: str
    label: str
    options: list[FilterOption]


@dataclass(frozen=True, slots=True)
class Filtering:
    choices: list[FilterChoice]
    hidden: list[tuple[str, str]]


def respond(
    request: HttpRequest,
    state: PageState,
    template: str,
    context: Mapping[str, object],
    *,
    heading: str,
    answer: str = "",
    with_range: bool = True,
    with_compare: bool = True,
    with_charts: bool = False,
) -> HttpResponse:
    """The page, or its panel when HTMX asks for it (but whole again when it restores history)."""
    fills = _fills(state)
    is_fragment = "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers
    merged = {
        **context,
        "state": state,
        "heading": heading,
        "answer": answer,
        "panel_template": template,
        "has_charts": with_charts,
        "ranges": _ranges(state, with_compare) if with_range else None,
        "filtering": _filtering(state),
        "chips": _chips(state),
        "compares": with_compare,
        "nearest": _nearest(state),
        "examples": examples(f"{request.scheme}://{request.get_host()}", state.now),
        "settings_url": reverse("settings") if state.viewer.can("settings") else "",
        "fills": fills,
        "refresh_seconds": SOON if fills else LIVE if state.period.live and with_range else 0,
    }
    response = render(request, "fragment.html" if is_fragment else "page.html", merged)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


def _fills(state: PageState) -> bool:
    """Whether a recording is being laid out, of which nothing can be shown yet."""
    return state.facts is None and ingest.recording_notice(state.heard.sources, state.heard.targets) is not None


def _ranges(state: PageState, with_compare: bool) -> Ranges:
    groups: dict[str, list[RangeLink]] = {}
    for preset in PRESETS:
        url = state.url(**{"range": preset.key, "from": None, "to": None})
        current = preset.key == state.period.key
        groups.setdefault(preset.group, []).append(RangeLink(preset.key, preset.name, url, current))
    compare_off = "compare" in state.period.query
    return Ranges(
        groups=[RangeGroup(name, presets) for name, presets in groups.items()],
        compare=[
            Option("Period before", state.url(compare=None), not compare_off),
            Option("Nothing", state.url(compare="off"), compare_off),
        ]
        if with_compare
        else [],
        resolved=resolved(state.period, with_compare),
        hidden=_hidden(state, leave_out=("range", "from", "to")),
    )


def resolved(period: Period, with_compare: bool) -> str:
    """The absolute range in words, with what it is compared with."""
    text = words.window(period.window.start, min(period.window.end, period.exact.end))
    return f"{text}, compared with {period.before_name}" if with_compare and period.before_name else text


def _nearest(state: PageState) -> Option | None:
    """The last day that has facts, for a range that has none."""
    if state.facts is None:
        return None
    day = (state.facts.end - timedelta(hours=1)).date().isoformat()
    return Option(day, state.url(**{"range": None, "from": day, "to": day}), current=False)


def _hidden(state: PageState, leave_out: Iterable[str]) -> list[tuple[str, str]]:
    query = {**state.period.query, **state.selection.query, **state.choices}
    gone = set(leave_out)
    return [(k, v) for k, v in query.items() if k not in gone and v and state.defaults.get(k) != v]


def _chips(state: PageState) -> list[Chip]:
    applied = state.selection.applied
    return [Chip(a.dimension, a.text, state.url(**{a.dimension: filters.without(applied, a)})) for a in applied]


def _filtering(state: PageState) -> Filtering | None:
    """Select boxes of the page's dimensions."""
    choices = []
    for dimension in state.names:
        chosen = getattr(state.selection.filters, dimension) or frozenset()
        offered = [n for n in state.offered[dimension].values() if n.id or chosen]
        options = [FilterOption(n.slug, n.name, n.id in chosen) for n in sorted(offered, key=lambda n: n.name.lower())]
        choices.append(FilterChoice(dimension, dimension.capitalize(), options))
    return Filtering(choices, _hidden(state, leave_out=state.names)) if choices else None
