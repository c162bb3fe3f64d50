"""Tables of a page as CSV (RFC 4180): full precision, raw units in the names of columns, unknown left empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from django.http import HttpResponse

from apps.core.unknown import Unknown
from apps.dashboard.state import PageState

Cell = str | int | float | Decimal | Unknown | None
FORMAT = "csv"
"""What `format` in the address of a page asks for."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_asked(query: str | None) -> bool:
    return query == FORMAT


def respond(
    state: PageState, name: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], provenance: dict[str, Cell]
) -> HttpResponse:
    """The file, with range, basis and the like in columns of their own at the end of each row."""
    window = state.period.window
    trailing = {"from": _moment(window.start), "to": _moment(window.end), **provenance}
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*columns, *trailing])
    for row in rows:
        writer.writerow([_cell(cell) for cell in (*row, *trailing.values())])
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8; header=present")
    file = f"{name}_{window.start:%Y%m%dT%H%M}_{window.end:%Y%m%dT%H%M}.csv"
    response["Content-Disposition"] = f'attachment; filename="{file}"'
    return response


def _moment(value: datetime) -> str:
    return f"{value:%Y-%m-%dT%H:%M:%SZ}"


def _cell(value: Cell) -> str:
    """A cell as written. Text that a spreadsheet would run as a formula is taken apart by an apostrophe."""
    if value is None or isinstance(value, Unknown):
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return f"{value:f}" if isinstance(value, Decimal) else repr(value)


def money(name: str, currency: str) -> str:
    """The name of a column of money: with its currency where there is one."""
    return f"{name}_{currency.lower()}" if currency else name
