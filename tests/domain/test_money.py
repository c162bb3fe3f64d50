"""Splitting money: the vectors of the field notes, and what holds for any amounts and weights."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.money import apportion, from_quanta, largest_remainder, quantize, split_quanta, to_quanta

CENT = Decimal("0.01")
weights_lists = st.lists(st.integers(0, 10**18), min_size=1, max_size=12).filter(any)


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        # 33.333.. each: one cent is over, and the smallest key gets it (naive rounding would give 99.99)
        ("100.00", (1, 1, 1), ("33.34", "33.33", "33.33")),
        # 1.6667, 3.3333, 5, 0: the missing cent goes to the largest remainder .67
        ("10.00", (1, 2, 3, 0), ("1.67", "3.33", "5.00", "0.00")),
        ("0.01", (1, 1), ("0.01", "0.00")),
        # a credit: 0.05 is split 0.03/0.02, then negated
        ("-0.05", (1, 1), ("-0.03", "-0.02")),
        # three drivers .3/.6/.1 over 800000/100000, 20000/80000, 30000/30000 make 131/300 and 169/300
        ("9.00", (Fraction(131, 300), Fraction(169, 300)), ("3.93", "5.07")),
        ("3.00", (Fraction(131, 300), Fraction(169, 300)), ("1.31", "1.69")),
        ("3.00", (1, 1), ("1.50", "1.50")),
        ("3.00", (1, 1, 1), ("1.00", "1.00", "1.00")),
        ("0.00", (5, 7), ("0.00", "0.00")),
    ],
)
def test_largest_remainder_vectors(total: str, weights: tuple[int | Fraction, ...], parts: tuple[str, ...]) -> None:
    split = largest_remainder(Decimal(total), dict(zip("abcd", weights, strict=False)), CENT)
    assert [split[key] for key in sorted(split)] == [Decimal(part) for part in parts]


def test_ties_go_to_the_smaller_key_whatever_the_order_of_the_mapping() -> None:
    assert largest_remainder(Decimal("0.01"), {"b": 1, "a": 1}, CENT) == {"a": Decimal("0.01"), "b": Decimal("0.00")}


@pytest.mark.parametrize(
    ("total", "weights", "message"),
    [
        ("27.00", {"a": 0, "b": 0}, "all weights are zero"),
        ("27.00", {}, "all weights are zero"),
        ("1.00", {"a": -1, "b": 2}, "negative"),
        ("1.005", {"a": 1}, "not a multiple"),
    ],
)
def test_a_split_that_would_lose_money_is_refused(total: str, weights: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        largest_remainder(Decimal(total), weights, CENT)


@settings(max_examples=200)
@given(st.integers(-(10**12), 10**12), weights_lists)
def test_parts_add_up_and_stay_within_one_quantum_of_exact(total: int, weights: list[int]) -> None:
    parts = split_quanta(total, weights)
    assert sum(parts) == total
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - Fraction(total * weight, sum(weights))) < 1
        assert weight or not part


@settings(max_examples=100)
@given(st.integers(0, 10**9), weights_lists)
def test_a_larger_weight_never_gets_less(total: int, weights: list[int]) -> None:
    by_weight = sorted(zip(weights, split_quanta(total, weights), strict=True))
    for (small, less), (large, more) in zip(by_weight, by_weight[1:], strict=False):
        assert small == large or less <= more


@settings(max_examples=100)
@given(st.integers(0, 10**9), st.lists(st.fractions(0, 10**6), min_size=1, max_size=8).filter(any), st.randoms())
def test_the_order_of_arrival_changes_nothing(total: int, weights: list[Fraction], random) -> None:  # type: ignore[no-untyped-def]
    items = list(enumerate(weights))
    amount = from_quanta(total)
    split = largest_remainder(amount, dict(items))
    random.shuffle(items)
    assert largest_remainder(amount, dict(items)) == split


@settings(max_examples=200)
@given(st.lists(st.fractions(-(10**9), 10**9), min_size=1, max_size=6))
def test_apportion_rounds_signed_parts_to_their_rounded_sum(exact: list[Fraction]) -> None:
    total = round(sum(exact, Fraction(0)))
    parts = apportion(total, exact)
    assert sum(parts) == total
    assert all(-1 < part - value <= 1 for part, value in zip(parts, exact, strict=True))


def test_apportion_copes_with_a_negative_idle() -> None:
    # busy 4.5 and idle -1.5 quanta: sum 3; floors 4 and -2 leave one, remainders are equal, the earlier part wins
    assert apportion(3, [Fraction(9, 2), Fraction(-3, 2)]) == [5, -2]
    # a replica that worked without being held: nothing in sum, yet both lines stand
    assert apportion(0, [Fraction(7, 3), Fraction(-7, 3)]) == [2, -2]
    assert apportion(0, []) == []


@pytest.mark.parametrize(("total", "exact"), [(5, [Fraction(3)]), (1, []), (0, [Fraction(2)])])
def test_apportion_refuses_parts_that_are_off(total: int, exact: list[Fraction]) -> None:
    with pytest.raises(ValueError, match="do not sum"):
        apportion(total, exact)


def test_quanta_and_decimals_convert_exactly() -> None:
    assert to_quanta(Decimal("-12.345678")) == -12_345_678
    assert from_quanta(-12_345_678) == Decimal("-12.345678")
    assert str(from_quanta(5)) == "0.000005"
    # halves go to the even neighbour
    assert [quantize(Decimal(x)) for x in ("0.0000005", "0.0000015")] == [Decimal("0.000000"), Decimal("0.000002")]
