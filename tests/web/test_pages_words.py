"""Sentences about changes and coverage: what moved most is named only where a share of the change says something."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apps.core.unknown import Unknown
from apps.dashboard.change import most_of
from apps.dashboard.pages.wording import coverage_words
from apps.rollups.selectors import Coverage, covered

Parts = dict[str, Decimal | Unknown]


def parts(**amounts: str) -> Parts:
    return {name: Decimal(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize(
    ("now", "before", "expected"),
    [
        # The sum rises from 4 to 8: by 3 of review and 1 of serving.
        (parts(serving="2", review="6"), parts(serving="1", review="3"), ("review", 0.75)),
        # It falls from 8 to 4, by the same.
        (parts(serving="1", review="3"), parts(serving="2", review="6"), ("review", 0.75)),
        # Serving rises by 3 and review falls by 1: three halves of the change say nothing.
        (parts(serving="4", review="2"), parts(serving="1", review="3"), None),
        (parts(serving="1", review="3"), parts(serving="1", review="3"), None),
        (parts(serving="1"), {"serving": Unknown("no price")}, None),
        (parts(serving="1"), {}, None),
    ],
)
def test_the_part_that_made_most_of_a_change(now: Parts, before: Parts, expected: tuple[str, float] | None) -> None:
    assert most_of(now, before) == expected


def test_coverage_is_of_all_engines_that_count_and_unknown_where_none_does() -> None:
    counted = [Coverage(1, 900, 1000, 80, 100), Coverage(2, 400, 500, 50, 50)]
    blind = Coverage(3, 700, None, 70, None)
    # (900 + 80 + 400 + 50) / (1000 + 100 + 500 + 50) = 1430 / 1650
    assert covered([*counted, blind]) == pytest.approx(1430 / 1650)
    assert coverage_words(covered(counted)) == "86.7 % of the tokens that engines counted were logged"
    assert coverage_words(covered([blind])) == "coverage unknown: no engine is measured"
    assert coverage_words(covered([Coverage(1, 0, 0, 0, 0)])) == "coverage unknown: the engines counted no tokens"
