"""Filters out of an address, chips out of filters."""

from __future__ import annotations

from collections.abc import Mapping

from apps.catalog.domain.nouns import NOBODY, Name
from apps.core.query import Dimension, Filters
from apps.dashboard import filters

NAMES: Mapping[Dimension, Mapping[int, Name]] = {
    "team": {0: NOBODY, 1: Name(1, "support", "Support", True), 2: Name(2, "search", "Search", True)},
    "endpoint": {0: NOBODY, 7: Name(7, "summaries", "Summaries", True)},
}


def test_slugs_become_ids() -> None:
    found = filters.parse({"team": "support,search", "endpoint": "none-given"}, NAMES, ("team", "endpoint"))
    assert found.filters == Filters(team=frozenset({1, 2}), endpoint=frozenset({0}))
    assert found.query == {"team": "support,search", "endpoint": "none-given"}
    assert [(a.dimension, a.text) for a in found.applied] == [
        ("team", "Support"),
        ("team", "Search"),
        ("endpoint", "none given"),
    ]


def test_unknown_slugs_are_named_and_do_not_empty_the_page() -> None:
    found = filters.parse({"team": "support,sales"}, NAMES, ("team",))
    assert found.filters == Filters(team=frozenset({1}))
    assert found.ignored == ("ignored team=sales: there is no such team",)
    assert filters.parse({"team": "sales"}, NAMES, ("team",)).filters == Filters()


def test_a_page_reads_only_its_own_dimensions() -> None:
    assert filters.parse({"team": "support"}, NAMES, ("endpoint",)).filters == Filters()


def test_a_chip_takes_away_only_itself() -> None:
    applied = filters.parse({"team": "support,search", "endpoint": "summaries"}, NAMES, ("team", "endpoint")).applied
    assert filters.without(applied, applied[0]) == "search"
    assert filters.without(applied, applied[2]) is None
