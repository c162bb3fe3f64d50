"""The price book: what holds on both sides of each boundary, what overlaps, and why there may be no price."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.catalog.domain.prices import (
    PriceAt,
    PriceBook,
    PriceEntry,
    SeriesKey,
    differing_spans,
    overlaps,
    scheduled,
)
from apps.core.errors import InvalidInput
from apps.core.time import EPOCH, Window
from apps.core.unknown import Unknown

H100 = SeriesKey("gpu_hour", 7, 0)
REVIEW = SeriesKey("reviewer_hour", 0, 0)
REVIEW_OF_3 = SeriesKey("reviewer_hour", 0, 3)
INSTANT = timedelta(microseconds=1)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


def entry(
    start: int,
    end: int | None = None,
    amount: str = "2",
    series: SeriesKey = H100,
    *,
    number: int = 1,
    fixed: bool = False,
    assumed: bool = False,
) -> PriceEntry:
    until = None if end is None else day(end)
    return PriceEntry(number, series, Decimal(amount), "USD", day(start), until, "contract", assumed, fixed)


def amount(price: PriceAt | Unknown) -> Decimal | str:
    return price.reason if isinstance(price, Unknown) else price.amount


@st.composite
def schedules(draw: st.DrawFn) -> list[PriceEntry]:
    """One series: up to six prices in order, with or without gaps; the last may be open."""
    edges = sorted(draw(st.sets(st.integers(0, 400), min_size=2, max_size=12)))
    spans = list(zip(edges[::2], edges[1::2], strict=False))
    open_end = draw(st.booleans())
    return [
        entry(start, None if open_end and position == len(spans) - 1 else end, str(position + 1), number=position + 1)
        for position, (start, end) in enumerate(spans)
    ]


@given(schedules(), st.randoms())
@settings(max_examples=60)
def test_each_price_holds_from_its_first_instant_to_before_its_last(entries: list[PriceEntry], random: object) -> None:
    shuffled = sorted(entries, key=lambda _: random.random())  # type: ignore[attr-defined]
    book = PriceBook(shuffled)
    starts = {e.effective_from for e in entries}
    for e in entries:
        assert book.gpu_hour(7, e.effective_from) == e.at
        if e.effective_until is None:
            assert book.gpu_hour(7, e.effective_from + timedelta(days=10_000)) == e.at
            continue
        assert book.gpu_hour(7, e.effective_until - INSTANT) == e.at
        if e.effective_until not in starts:
            assert isinstance(book.gpu_hour(7, e.effective_until), Unknown)
    assert isinstance(book.gpu_hour(7, min(starts) - INSTANT), Unknown)


@given(schedules(), st.integers(-10, 410), st.integers(1, 60))
@settings(max_examples=60)
def test_spans_of_a_window_follow_each_other_and_each_has_one_price(
    entries: list[PriceEntry], start: int, length: int
) -> None:
    window = Window(day(start), day(start + length))
    book = PriceBook(entries)
    spans = book.gpu_hour_spans(7, window)
    assert spans[0][0].start == window.start
    assert spans[-1][0].end == window.end
    assert all(a[0].end == b[0].start for a, b in zip(spans, spans[1:], strict=False))
    for piece, price in spans:
        assert amount(book.gpu_hour(7, piece.start)) == amount(price)
        assert amount(book.gpu_hour(7, piece.end - INSTANT)) == amount(price)


@given(schedules())
@settings(max_examples=40)
def test_a_schedule_that_is_in_order_is_left_alone(entries: list[PriceEntry]) -> None:
    assert scheduled(entries) == entries
    assert differing_spans(entries, entries) == []


@given(schedules(), schedules())
@settings(max_examples=60)
def test_differing_spans_are_exactly_the_days_that_cost_something_else(
    old: list[PriceEntry], new: list[PriceEntry]
) -> None:
    spans = differing_spans(old, new)
    before, after = PriceBook(old), PriceBook(new)

    def price(book: PriceBook, at: datetime) -> Decimal | None:
        held = book.gpu_hour(7, at)
        return None if isinstance(held, Unknown) else held.amount

    for number in range(-1, 402):
        inside = any(since <= day(number) and (until is None or day(number) < until) for since, until in spans)
        assert inside == (price(before, day(number)) != price(after, day(number)))
    assert all(a[1] is not None and a[1] < b[0] for a, b in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize(
    ("entries", "count"),
    [
        ([entry(0, 10), entry(10, 20)], 0),
        ([entry(0, 11), entry(10, 20)], 1),
        ([entry(0, None), entry(10, None)], 1),
        ([entry(0, 10), entry(0, 10)], 1),
        ([entry(0, None), entry(0, None, series=REVIEW)], 0),
        ([entry(0, None, series=REVIEW), entry(0, None, series=REVIEW_OF_3)], 0),
    ],
)
def test_only_prices_of_one_series_overlap(entries: list[PriceEntry], count: int) -> None:
    assert len(overlaps(entries)) == count
    if count:
        with pytest.raises(InvalidInput, match="overlaps"):
            PriceBook(entries)


def test_a_price_ends_where_the_next_begins_unless_its_end_is_stated() -> None:
    cut, last = scheduled([entry(0, None), entry(10, None)])
    assert (cut.effective_until, last.effective_until) == (day(10), None)
    shorter, _ = scheduled([entry(0, 5), entry(10, None)])
    assert shorter.effective_until == day(5)
    with pytest.raises(InvalidInput, match="overlaps the one from 2026-01-11"):
        scheduled([entry(0, 12, fixed=True), entry(10, None)])
    with pytest.raises(InvalidInput, match="two prices begin at 2026-01-01"):
        scheduled([entry(0, None), entry(0, None)])


def test_the_price_of_one_endpoint_goes_before_the_general_one() -> None:
    book = PriceBook([entry(0, None, "45", REVIEW), entry(10, 20, "60", REVIEW_OF_3)])
    assert amount(book.reviewer_hour(3, day(10) - INSTANT)) == Decimal(45)
    assert amount(book.reviewer_hour(3, day(10))) == Decimal(60)
    assert amount(book.reviewer_hour(3, day(20))) == Decimal(45)
    assert amount(book.reviewer_hour(4, day(15))) == Decimal(45)
    assert amount(book.reviewer_hour(0, day(15))) == Decimal(45)


def test_unknown_says_why() -> None:
    book = PriceBook([entry(0, 10), entry(20, None)], {7: "H100"})
    assert amount(book.gpu_hour(0, day(5))) == "the replica's deployment names no GPU type"
    assert amount(book.gpu_hour(8, day(5))) == "no price for GPU type 8"
    assert amount(book.gpu_hour(7, EPOCH)) == "no price for GPU type H100 before 2026-01-01"
    assert amount(book.gpu_hour(7, day(15))) == "no price for GPU type H100 from 2026-01-11 until 2026-01-21"
    assert (
        amount(PriceBook([entry(0, 10)], {7: "H100"}).gpu_hour(7, day(15)))
        == "no price for GPU type H100 since 2026-01-11"
    )
    assert amount(PriceBook([]).reviewer_hour(3, day(0))) == "no price for an hour of review"


def test_a_price_of_zero_is_a_price() -> None:
    assert amount(PriceBook([entry(0, None, "0")]).gpu_hour(7, day(1))) == Decimal(0)


def test_a_price_that_becomes_assumed_differs() -> None:
    assert differing_spans([entry(0, None)], [entry(0, None, assumed=True)]) == [(day(0), None)]
