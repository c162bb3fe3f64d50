"""The pieces of SQL that the reads of this room share. Names come from closed vocabularies only, values are bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from apps.core.query import DIMENSIONS, Bucket, Dimension, Filters
from apps.core.time import Window


def bucket_sql(bucket: Bucket, column: str) -> str:
    """The start of the bucket in which the hour `column` lies; NULL for 'total'. Days are of UTC."""
    if bucket == "total":
        return "NULL::timestamptz"
    if bucket == "hour":
        return column
    if bucket == "day":
        return f"date_trunc('day', {column}, 'UTC')"
    raise ValueError(f"bucket {bucket!r} is not one of total, hour, day")


def group_sql(group_by: Sequence[Dimension], allowed: Sequence[Dimension] = DIMENSIONS) -> list[str]:
    """Columns of the dimensions. Raises ValueError for a dimension that the table does not have."""
    if unknown := [dimension for dimension in group_by if dimension not in allowed]:
        raise ValueError(f"cannot group by {', '.join(unknown)}: use {', '.join(allowed)}")
    return [f"{dimension}_id" for dimension in group_by]


def ids_sql(group_by: Sequence[Dimension], allowed: Sequence[Dimension] = DIMENSIONS) -> str:
    """The ids of the dimensions as one array, so that queries by different dimensions have the same columns."""
    return f"ARRAY[{', '.join(group_sql(group_by, allowed))}]::int[]"


def where_sql(
    window: Window, filters: Filters, column: str, allowed: Sequence[Dimension] = DIMENSIONS
) -> tuple[str, list[Any]]:
    """The condition that keeps hours which start in `window`, and rows that `filters` keep; with its values."""
    conditions = [f"{column} >= %s", f"{column} < %s"]
    values: list[Any] = [window.start, window.end]
    for dimension, ids in filters.items():
        if dimension not in allowed:
            raise ValueError(f"cannot filter by {dimension}: use {', '.join(allowed)}")
        conditions.append(f"{dimension}_id = ANY(%s)")
        values.append(sorted(ids))
    return " AND ".join(conditions), values


def rows_of(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def together(parts: Sequence[tuple[str, Sequence[Any]]], sorted_by: int) -> list[tuple[Any, ...]]:
    """The rows of several queries with the same columns in one answer, each headed by the number of its query.

    They are in the order of their first `sorted_by` columns.
    """
    queries = [
        f"SELECT {number}, part_{number}.* FROM ({sql}) AS part_{number}" for number, (sql, _) in enumerate(parts)
    ]
    places = ", ".join(str(place) for place in range(1, sorted_by + 1))
    return rows_of(f"{' UNION ALL '.join(queries)} ORDER BY {places}", [v for _, values in parts for v in values])
