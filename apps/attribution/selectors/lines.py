"""Pages of ledger lines, for exports and for whoever wants to see behind a sum."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from apps.attribution.domain.lines import Line
from apps.attribution.models import LedgerLine
from apps.attribution.selectors.sql import rows_of, where_sql
from apps.core.query import Filters
from apps.core.time import Window


class LinePlace(NamedTuple):
    """Where a line stands; the cursor of a page is the place of the last line before it."""

    hour: datetime
    line: int


@dataclass(frozen=True, slots=True)
class PlacedLine:
    place: LinePlace
    run_id: UUID
    line: Line


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Lines in the order of their places; `next_cursor` is None on the last page."""

    lines: list[PlacedLine]
    next_cursor: LinePlace | None


_COLUMNS = [field.name for field in fields(Line)]


def ledger(
    *,
    window: Window,
    filters: Filters = Filters(),  # noqa: B008
    cursor: LinePlace | None = None,
    limit: int = 1000,
) -> LedgerPage:
    """The lines of the hours that start in `window`, after `cursor`, at most `limit`.

    Places are stable for the same facts and prices; an hour that is replaced between two pages goes on where the
    cursor stood.
    """
    condition, values = where_sql(window, filters, "hour")
    if cursor is not None:
        condition += " AND (hour, line) > (%s, %s)"
        values += [*cursor]
    sql = (
        f"SELECT hour, line, run_id, {', '.join(_COLUMNS)} FROM {LedgerLine._meta.db_table} "
        f"WHERE {condition} ORDER BY hour, line LIMIT %s"
    )
    rows = rows_of(sql, [*values, limit + 1])
    lines = [PlacedLine(LinePlace(row[0], row[1]), row[2], Line(*row[3:])) for row in rows[:limit]]
    return LedgerPage(lines, lines[-1].place if len(rows) > limit else None)
