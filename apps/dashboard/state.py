"""The state of a page: its address read once into a period, filters and choices, and written back for links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import HttpRequest

from apps.accounts.selectors import Viewer
from apps.catalog import selectors as catalog
from apps.catalog.domain.nouns import Names
from apps.core.query import Dimension, Filters
from apps.core.time import Window
from apps.dashboard import filters, period
from apps.dashboard import format as words
from apps.dashboard.heard import Heard
from apps.dashboard.offered import Offered, offered
from apps.rollups import selectors as rollups

FILTERED: tuple[Dimension, ...] = ("team", "endpoint", "model")
RECORDS = "/requests"


@dataclass(frozen=True, slots=True)
class PageState:
    """What a page was asked to show, and to whom. `filters` already holds the viewer's team limit."""

    path: str
    now: datetime
    viewer: Viewer
    period: period.Period
    selection: filters.Selection
    filters: Filters
    names: Mapping[Dimension, Names]
    offered: Offered
    """Those of `names` that the viewer may pick from; the others only say what is in the viewer's own figures."""
    choices: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    facts: Window | None = None
    """The hours from the first to the last that have facts; None before anything has come in."""
    uncompared: str = ""
    heard: Heard = field(default_factory=Heard)
    pinned: Dimension | None = None
    """The dimension that the address itself fixes: links to other pages carry it, links to this page need not."""

    def url(self, path: str | None = None, /, **changes: str | None) -> str:
        """This page's address (or another `path` with the same state) with some of the query changed; None removes."""
        query: dict[str, str | None] = {**self.period.query, **self.selection.query}
        if path is None:
            query = {name: value for name, value in query.items() if name != self.pinned} | dict(self.choices)
        query |= changes
        kept = [(k, v) for k, v in query.items() if v is not None and v != "" and self.defaults.get(k) != v]
        if path == RECORDS and path != self.path and not {"range", "from"} & dict(kept).keys():
            # The rows behind a number are those of its range, whatever range that page has by default.
            kept.insert(0, ("range", self.period.key))
        return (path or self.path) + ("?" + urlencode(kept, safe=",:") if kept else "")

    def name(self, dimension: Dimension, noun_id: int) -> str:
        return self.names[dimension][noun_id].name


def read(
    request: HttpRequest,
    *,
    default_range: period.Key = period.DEFAULT,
    choices: Mapping[str, Sequence[str]] | None = None,
    dimensions: Sequence[Dimension] = FILTERED,
) -> PageState:
    """The state that the request's address asks for; of each choice the first value is the default."""
    now = datetime.now(UTC)
    query = {name: value for name, value in request.GET.items() if isinstance(value, str)}
    facts = rollups.data_range()
    default_range = period.default_for(default_range, facts, now)
    asked = period.parse(query, now, default_range)
    when = period.comparable(asked, facts)
    names = catalog.names_of(dimensions)
    viewer: Viewer = request.viewer  # type: ignore[attr-defined]
    may_pick = offered(viewer, names, when.window, now)
    selection = filters.parse(query, may_pick, dimensions)
    chosen, notes = _choose(query, choices or {})
    return PageState(
        path=request.path,
        now=now,
        viewer=viewer,
        period=when,
        selection=selection,
        filters=selection.filters.limited_to_teams(viewer.teams),
        names=names,
        offered=may_pick,
        choices=chosen,
        defaults={"range": default_range, "compare": "prev"} | {n: v[0] for n, v in (choices or {}).items()},
        ignored=when.ignored + selection.ignored + tuple(notes),
        facts=facts,
        uncompared=_uncompared(asked, when, facts),
    )


def _uncompared(asked: period.Period, when: period.Period, facts: Window | None) -> str:
    """Why nothing is compared although it was asked for."""
    if asked.before is None or when.before is not None or facts is None:
        return ""
    return f"Not compared with {asked.before_name}: the data begin on {words.minute(facts.start)} UTC."


def _choose(query: Mapping[str, str], choices: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], list[str]]:
    chosen: dict[str, str] = {}
    notes: list[str] = []
    for name, allowed in choices.items():
        value = query.get(name, "")
        if value and value not in allowed:
            notes.append(f"ignored {name}={value[:40]}: use one of {', '.join(allowed)}")
        chosen[name] = value if value in allowed else allowed[0]
    return chosen, notes
