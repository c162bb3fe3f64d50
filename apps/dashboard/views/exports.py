"""Links from a table to the same rows in the API, and to the ledger behind them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from apps.dashboard import csv_file
from apps.dashboard.state import PageState


@dataclass(frozen=True, slots=True)
class ExportLink:
    text: str
    url: str


def export_links(state: PageState, route: str, by: str) -> list[ExportLink]:
    """The table of this page as CSV, and the rows of `route` ("costs" or "tasks") over the same hours and filters."""
    window = {
        "from": f"{state.period.window.start:%Y-%m-%dT%H:%MZ}",
        "to": f"{state.period.window.end:%Y-%m-%dT%H:%MZ}",
    }
    kept = {"group_by": by, **state.selection.query}
    links = [ExportLink("CSV", state.url(format=csv_file.FORMAT))]
    links.append(ExportLink("JSON", f"{reverse(f'api:{route}')}?{urlencode(window | kept, safe=':,')}"))
    if route == "costs" and not state.selection.query and state.viewer.can("exports"):
        links.append(ExportLink("FOCUS CSV", f"{reverse('api:focus')}?{urlencode(window, safe=':,')}"))
    return links
