"""Quantities in words, and changes: hand-worked cases, and what must hold for every number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.unknown import Unknown
from apps.dashboard import change, sparkline
from apps.dashboard import format as words


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0", "$0"),
        ("1204.5", "$1,204.50"),
        ("1", "$1.00"),
        ("0.99999", "$1.00"),
        ("0.0421534", "$0.04215"),
        ("0.5", "$0.5000"),
        ("0.000001", "$0.000001000"),
        ("-3.456", "−$3.46"),
        ("1234567.891", "$1,234,567.89"),
    ],
)
def test_money_has_two_decimals_from_one_on_and_four_digits_below(amount: str, said: str) -> None:
    assert words.money(Decimal(amount)) == said


def test_other_currencies_are_named() -> None:
    assert words.money(Decimal("2.5"), "EUR") == "€2.50"
    assert words.money(Decimal("2.5"), "SEK") == "2.50 SEK"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"),
        (999, "999"),
        (999.6, "1.00 k"),
        (1_000, "1.00 k"),
        (1_240_000, "1.24 M"),
        (18_340_000, "18.3 M"),
        (183_400_000, "183 M"),
        (999_999, "1.00 M"),
        (2_500_000_000, "2.50 G"),
        (-1500, "−1.50 k"),
    ],
)
def test_large_numbers_keep_three_digits(value: float, said: str) -> None:
    assert words.compact(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 s"), (0.00085, "850 µs"), (0.0421, "42.1 ms"), (0.9999, "1.00 s"), (1.236, "1.24 s"), (200, "3 min 20 s")],
)
def test_durations_take_the_unit_that_fits(value: float, said: str) -> None:
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 %"), (0.0012, "0.12 %"), (0.153, "15.3 %"), (1, "100 %"), (0.00001, "< 0.01 %"), (0.9996, "100 %")],
)
def test_shares_are_percents(value: float, said: str) -> None:
    assert words.share(value) == said


def test_times_are_relative_in_their_largest_unit() -> None:
    now = datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert words.ago(now - timedelta(seconds=90), now) == "1 min ago"
    assert words.ago(now - timedelta(days=5, hours=3), now) == "5 d ago"
    assert words.ago(now + timedelta(minutes=3), now) == "in 3 min"


@pytest.mark.parametrize(
    ("now", "before", "said", "tone"),
    [
        (109, 100, "+9.0 %", "bad"),
        (91, 100, "−9.0 %", "good"),
        (150, 100, "+50 %", "bad"),
        (100.2, 100, "no change", "neutral"),
        (5, 0, "new", "neutral"),
        (0, 0, "no change", "neutral"),
        (0, 5, "−100 %", "good"),
        (1200, 100, "×12", "bad"),
    ],
)
def test_a_change_is_said_once_and_never_infinite(now: float, before: float, said: str, tone: str) -> None:
    found = change.relative(now, before, "down")
    assert found is not None
    assert (found.words, found.tone) == (said, tone)


def test_nothing_is_said_of_a_change_from_or_to_the_unknown() -> None:
    why = Unknown("no price")
    assert change.relative(why, 1) is None
    assert change.relative(1, why) is None
    assert change.relative(None, 1) is None
    assert change.points(0.5, why) is None


def test_rates_change_in_points() -> None:
    found = change.points(0.034, 0.02, "down")
    assert found is not None
    assert (found.symbol, found.words, found.tone) == ("▲", "+1.4 points", "bad")
    assert change.points(0.0201, 0.02) == change.SAME


def test_totals_have_no_good_direction() -> None:
    found = change.relative(200, 100)
    assert found is not None
    assert found.tone == "neutral"


numbers = st.decimals(min_value=0, max_value=10**12, allow_nan=False, places=6)


@given(numbers, numbers)
def test_a_change_has_one_sign_everywhere(now: Decimal, before: Decimal) -> None:
    found = change.relative(now, before, "up")
    assert found is not None
    if found.symbol == "▲":
        assert now > before and found.tone == "good"
    elif found.symbol == "▼":
        assert now < before and found.tone == "bad"


@given(numbers)
def test_money_reads_back_to_the_amount_within_its_digits(amount: Decimal) -> None:
    read = Decimal(words.money(amount).strip("$").replace(",", ""))
    allowed = Decimal("0.005") if amount >= 1 else amount / 1000
    assert abs(read - amount) <= allowed


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12)), max_size=2000))
def test_a_sparkline_stays_small_and_breaks_at_gaps(values: list[float | None]) -> None:
    drawn = sparkline.svg(values)
    assert len(drawn) < 1100
    if len(values) <= sparkline.MOST_POINTS and drawn:
        padded = [None, *values]
        pieces = sum(1 for left, right in zip(padded, padded[1:], strict=False) if left is None and right is not None)
        assert drawn.count("M") == pieces
