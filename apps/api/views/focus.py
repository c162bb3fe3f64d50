"""GET /api/v1/exports/focus.csv: the ledger as FOCUS 1.2, streamed."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from rest_framework.request import Request

from apps.api.domain.focus.charges import gather
from apps.api.domain.focus.columns import COLUMNS, VERSION
from apps.api.domain.focus.rows import Label, Labels, row
from apps.api.naming import Names, filters_of
from apps.api.schema.focus import ACCEPTED, FOCUS
from apps.api.views.base import Reading
from apps.attribution.selectors import Line, ledger, unpriced_lines
from apps.catalog import selectors as catalog
from apps.core.query import Filters
from apps.core.time import HOUR, Window

_MOST_LINES = 10_000_000


class _Echo:
    """Hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


@FOCUS
class FocusExport(Reading):
    required_scope = "export"
    accepted = ACCEPTED

    def get(self, request: Request) -> HttpResponseBase:
        question, names = self.question(request), Names()
        filters = filters_of(question.slugs, self.caller(request), names)
        window = question.window
        response = StreamingHttpResponse(
            _csv(window, filters, _labels(names)), content_type="text/csv; charset=utf-8; header=present"
        )
        name = f"focus-{VERSION}_{window.start:%Y%m%dT%H}_{window.end:%Y%m%dT%H}.csv"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        response["X-Focus-Version"] = VERSION
        response["X-Unpriced-Lines"] = str(unpriced_lines(window=window, filters=filters))
        return response


def _labels(names: Names) -> Labels:
    return Labels(
        teams=_ById(names.of("team")),
        endpoints=_ById(names.of("endpoint")),
        models=_ById(names.of("model")),
        replicas=_ById(names.of("replica")),
        deployments=_ById(names.deployments),
        gpu_types=_ById(names.gpu_types),
        assumed_prices=frozenset(price.id for price in catalog.prices() if price.assumed),
    )


class _ById(dict[int, Label]):
    """Labels by id; the names know what to call an id that is gone from the catalog."""

    def __init__(self, names: catalog.Names) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, noun_id: int) -> Label:
        name = self._names[noun_id]
        self[noun_id] = label = Label(name.slug, name.name)
        return label


def _csv(window: Window, filters: Filters, labels: Labels) -> Iterator[str]:
    """CSV text, header first, an hour at a time: memory holds the lines of one hour."""
    writer: Any = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for hour, lines in _hours(window, filters):
        yield "".join(writer.writerow(row(charge, labels)) for charge in gather(hour, lines))


def _hours(window: Window, filters: Filters) -> Iterator[tuple[datetime, list[Line]]]:
    """The hours that have lines. Each is read by one statement, as hours are what the ledger replaces at a stroke."""
    start = window.start
    while start < window.end:
        first = ledger(window=Window(start, window.end), filters=filters, limit=1).lines
        if not first:
            return
        hour = first[0].place.hour
        lines = ledger(window=Window.hour(hour), filters=filters, limit=_MOST_LINES).lines
        yield hour, [placed.line for placed in lines]
        start = hour + HOUR
