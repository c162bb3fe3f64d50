"""Slugs of a question turned into ids for selectors, and ids of rows into what callers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from apps.api.authentication import Caller
from apps.api.domain.parameters import unknown_slug
from apps.catalog import selectors as catalog
from apps.catalog.domain.nouns import NOBODY, DeploymentRow, GpuTypeRow, Name
from apps.core.errors import InvalidInput, Problem
from apps.core.query import NONE_GIVEN, Dimension, Filters


class Names:
    """Names of the dimensions that one request needs, each read once."""

    def __init__(self) -> None:
        self._read: dict[Dimension, catalog.Names] = {}

    def of(self, dimension: Dimension) -> catalog.Names:
        if dimension not in self._read:
            self._read[dimension] = catalog.names(dimension)
        return self._read[dimension]

    def labelled(self, ids: Mapping[Dimension, int], group_by: Sequence[Dimension]) -> dict[str, dict[str, object]]:
        """One member per dimension; id 0 is what came without such a label."""
        return {dimension: self.label(dimension, ids[dimension]) for dimension in group_by}

    def label(self, dimension: Dimension, noun_id: int) -> dict[str, object]:
        return as_dict(self.of(dimension)[noun_id])

    @cached_property
    def deployments(self) -> catalog.Names:
        return _named(catalog.deployments())

    @cached_property
    def gpu_types(self) -> catalog.Names:
        return _named(catalog.gpu_types())


def as_dict(name: Name) -> dict[str, object]:
    return {"id": name.id, "slug": name.slug, "name": name.name, "claimed": name.claimed}


def _named(rows: Sequence[DeploymentRow] | Sequence[GpuTypeRow]) -> catalog.Names:
    return catalog.Names({NONE_GIVEN: NOBODY} | {row.id: Name(row.id, row.slug, row.name, row.claimed) for row in rows})


def filters_of(slugs: Mapping[Dimension, Sequence[str]], caller: Caller, names: Names) -> Filters:
    """The filters that were asked for, within what the caller may see. Raises InvalidInput for unknown slugs.

    A caller who is limited to teams learns nothing here of other teams: their slugs are unknown to it.
    """
    problems: list[Problem] = []
    ids: dict[Dimension, frozenset[int]] = {}
    for dimension, wanted in slugs.items():
        by_slug = {
            name.slug: name.id
            for name in names.of(dimension).values()
            if dimension != "team" or caller.teams is None or name.id in caller.teams
        }
        hearable = list(by_slug) if caller.teams is None or dimension == "team" else []
        problems += [unknown_slug(dimension, slug, hearable) for slug in wanted if slug not in by_slug]
        ids[dimension] = frozenset(by_slug[slug] for slug in wanted if slug in by_slug)
    if problems:
        raise InvalidInput(problems)
    return Filters(**ids).limited_to_teams(caller.teams)
