"""How much of the ledger has no amount, for whoever must leave it out and say so."""

from __future__ import annotations

from apps.attribution.models import LedgerLine
from apps.attribution.selectors.sql import rows_of, where_sql
from apps.core.query import Filters
from apps.core.time import Window


def unpriced_lines(*, window: Window, filters: Filters = Filters()) -> int:  # noqa: B008
    """Lines without an amount in the hours that start in `window`."""
    condition, values = where_sql(window, filters, "hour")
    sql = f"SELECT count(*) FROM {LedgerLine._meta.db_table} WHERE {condition} AND amount IS NULL"
    return int(rows_of(sql, values)[0][0])
