"""What can be asked of facts: the dimensions, and filters over them. Ids are catalog ids; 0 means "none given"."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

from apps.core.time import Window

Dimension = Literal["team", "endpoint", "model", "replica", "key"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
Bucket = Literal["total", "hour", "day"]

NONE_GIVEN = 0
"""Dimension id of records whose source gave no such label (not the same as an unclaimed label, which has a row)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One of several sums that are read together: of which hours, by what, in which buckets."""

    window: Window
    group_by: tuple[Dimension, ...] = ()
    bucket: Bucket = "total"


@dataclass(frozen=True, slots=True)
class Filters:
    """Keep only rows whose dimension id is in the set; None keeps all. An empty set keeps nothing."""

    team: frozenset[int] | None = None
    endpoint: frozenset[int] | None = None
    model: frozenset[int] | None = None
    replica: frozenset[int] | None = None
    key: frozenset[int] | None = None

    def items(self) -> list[tuple[Dimension, frozenset[int]]]:
        """(dimension, ids) pairs of the filters that are set."""
        return [(f.name, getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) is not None]  # type: ignore[misc]

    def limited_to_teams(self, teams: frozenset[int] | None) -> Filters:
        """These filters with the viewer's team limit applied on top (None: no limit)."""
        if teams is None:
            return self
        allowed = teams if self.team is None else self.team & teams
        return Filters(allowed, self.endpoint, self.model, self.replica, self.key)
