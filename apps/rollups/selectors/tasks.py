"""Cohorts of tasks over any window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.core.query import Ask, Bucket, Dimension, Filters
from apps.core.time import Window
from apps.rollups.domain.facts import Cohort
from apps.rollups.selectors.query import bucket_of, condition, ids_of, ids_sql, together

_OF_COHORTS = ("team", "endpoint", "model")
_SUMMED = "sum(tasks)::int, sum(retried_tasks)::int, sum(escalated_tasks)::int, sum(review_minutes)"


def cohorts(
    *,
    window: Window,
    group_by: tuple[Dimension, ...] = (),
    bucket: Bucket = "total",
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> list[Cohort]:
    """Tasks whose first request is in an hour that the window touches, by bucket, ids and decision.

    Raises ValueError for replica or key: tasks have none.
    """
    return cohorts_of([Ask(window, group_by, bucket)], filters)[0]


def cohorts_of(asks: Sequence[Ask], filters: Filters = Filters()) -> list[list[Cohort]]:  # noqa: B008 - frozen
    """The cohorts of each ask, all read with one query."""
    asked = [*(d for ask in asks for d in ask.group_by), *(dimension for dimension, _ in filters.items())]
    if foreign := [dimension for dimension in asked if dimension not in _OF_COHORTS]:
        raise ValueError(f"tasks have no {foreign[0]}: use {', '.join(_OF_COHORTS)}")
    found: list[list[Cohort]] = [[] for _ in asks]
    for number, bucket, ids, *sums in together([_query(ask, filters) for ask in asks]):
        found[number].append(Cohort(bucket, ids_of(asks[number].group_by, ids), *sums))
    return found


def _query(ask: Ask, filters: Filters) -> tuple[str, dict[str, Any]]:
    where, parameters = condition(ask.window, filters, "cohort_hour")
    keys = f"{bucket_of(ask.bucket, 'cohort_hour')} AS bucket, {ids_sql(ask.group_by)} AS ids, decision"
    return f"SELECT {keys}, {_SUMMED} FROM rollups_taskcohort WHERE {where} GROUP BY 1, 2, 3", parameters
