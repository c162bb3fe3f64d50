"""The parts of a query over facts: where, by what, and in which buckets of time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection

from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import Window, hour_floor


def rows(query: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The answer in psycopg's binary format, in which bytes come as they are."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(query, parameters, binary=True).fetchall()


def together(parts: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """The rows of several queries with the same columns in one answer, each headed by the number of its query."""
    queries: list[str] = []
    parameters: dict[str, Any] = {}
    for number, (query, own) in enumerate(parts):
        numbered = re.sub(r"%\((\w+)\)s", rf"%(\1_{number})s", query)
        queries.append(f"SELECT {number}, part_{number}.* FROM ({numbered}) AS part_{number}")
        parameters |= {f"{name}_{number}": value for name, value in own.items()}
    return rows(" UNION ALL ".join(queries) + " ORDER BY 1, 2, 3", parameters)


def bucket_of(bucket: Bucket, column: str) -> str:
    """SQL of the start of the bucket in which the hour in `column` lies; null for 'total'."""
    if bucket == "total":
        return "NULL::timestamptz"
    return column if bucket == "hour" else f"date_trunc('day', {column}, 'UTC')"


def condition(window: Window, filters: Filters, column: str) -> tuple[str, dict[str, Any]]:
    """SQL that keeps hours that the window touches, and rows that the filters keep; with its parameters."""
    terms = [f"{column} >= %(start)s", f"{column} < %(end)s"]
    parameters: dict[str, Any] = {"start": hour_floor(window.start), "end": window.end}
    for dimension, ids in filters.items():
        terms.append(f"{dimension}_id = ANY(%({dimension})s::int[])")
        parameters[dimension] = sorted(ids)
    return " AND ".join(terms), parameters


def ids_sql(group_by: Sequence[Dimension]) -> str:
    """SQL of the ids of the dimensions as one array, so that queries by different dimensions have the same columns."""
    return f"ARRAY[{', '.join(f'{dimension}_id' for dimension in group_by)}]::int[]"


def ids_of(group_by: Sequence[Dimension], values: Sequence[int]) -> dict[Dimension, int]:
    return dict(zip(group_by, values, strict=True))
