"""The parts of a query over facts: where, by what, and in which buckets of time."""

from __future__ import annotations

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


def ids_of(group_by: Sequence[Dimension], values: Sequence[int]) -> dict[Dimension, int]:
    return dict(zip(group_by, values, strict=True))
