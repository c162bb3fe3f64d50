"""What teams used of everything that has a name: endpoints, models, replicas and keys."""

from __future__ import annotations

from apps.core.query import Dimension, Filters
from apps.core.time import Window
from apps.rollups.selectors.query import condition, rows

_OF_TEAMS: tuple[Dimension, ...] = ("endpoint", "model", "replica", "key")


def used_by(teams: frozenset[int], window: Window) -> dict[Dimension, frozenset[int]]:
    """Ids in the attempts of `teams` in hours that the window touches."""
    where, parameters = condition(window, Filters(team=teams), "hour")
    columns = ", ".join(f"array_agg(DISTINCT {dimension}_id)" for dimension in _OF_TEAMS)
    (found,) = rows(f"SELECT {columns} FROM rollups_usagehour WHERE {where}", parameters)
    return {dimension: frozenset(ids or ()) for dimension, ids in zip(_OF_TEAMS, found, strict=True)}
