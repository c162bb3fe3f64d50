"""Filters of a page: slugs of the query become ids for selectors, chips for readers, and notes on what was ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apps.catalog.domain.nouns import Name
from apps.core.query import DIMENSIONS, Dimension, Filters


@dataclass(frozen=True, slots=True)
class Applied:
    """One filter value in force, with the text of its chip."""

    dimension: Dimension
    slug: str
    text: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What the query keeps. `query` holds the understood part, for links."""

    filters: Filters
    applied: tuple[Applied, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


def parse(
    query: Mapping[str, str],
    names: Mapping[Dimension, Mapping[int, Name]],
    allowed: Sequence[Dimension] = DIMENSIONS,
) -> Selection:
    """The filters that `query` asks for, among the names of `allowed` dimensions (`?team=support,search`)."""
    ids: dict[Dimension, frozenset[int]] = {}
    applied: list[Applied] = []
    kept: dict[str, str] = {}
    ignored: list[str] = []
    for dimension in allowed:
        asked = [slug for slug in query.get(dimension, "").split(",") if slug]
        by_slug = {name.slug: name for name in names.get(dimension, {}).values()}
        known = [slug for slug in dict.fromkeys(asked) if slug in by_slug]
        unknown = [slug for slug in asked if slug not in by_slug]
        if unknown:
            ignored.append(f"ignored {dimension}={','.join(unknown)[:60]}: there is no such {dimension}")
        if known:
            ids[dimension] = frozenset(by_slug[slug].id for slug in known)
            kept[dimension] = ",".join(known)
            applied += [Applied(dimension, slug, by_slug[slug].name) for slug in known]
    return Selection(Filters(**ids), tuple(applied), kept, tuple(ignored))


def without(applied: Sequence[Applied], gone: Applied) -> str | None:
    """The query value of `gone`'s dimension once its chip is removed; None when nothing is left of it."""
    return ",".join(a.slug for a in applied if a.dimension == gone.dimension and a.slug != gone.slug) or None
