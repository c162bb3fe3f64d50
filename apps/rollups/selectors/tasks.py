"""Cohorts of tasks over any window."""

from __future__ import annotations

from apps.core.query import Bucket, Dimension, Filters
from apps.core.time import Window
from apps.rollups.domain.facts import Cohort
from apps.rollups.selectors.query import bucket_of, condition, ids_of, rows

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
    asked = [*group_by, *(dimension for dimension, _ in filters.items())]
    if foreign := [dimension for dimension in asked if dimension not in _OF_COHORTS]:
        raise ValueError(f"tasks have no {foreign[0]}: use {', '.join(_OF_COHORTS)}")
    where, parameters = condition(window, filters, "cohort_hour")
    keys = [f"{dimension}_id" for dimension in group_by]
    places = ", ".join(str(place + 1) for place in range(len(keys) + 2))
    columns = [f"{bucket_of(bucket, 'cohort_hour')} AS bucket", *keys, "decision", _SUMMED]
    query = f"SELECT {', '.join(columns)} FROM rollups_taskcohort WHERE {where} GROUP BY {places} ORDER BY {places}"
    at = 1 + len(keys)
    return [Cohort(row[0], ids_of(group_by, row[1:at]), *row[at:]) for row in rows(query, parameters)]
