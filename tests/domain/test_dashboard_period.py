"""Ranges of pages: windows, comparisons and buckets, worked out by hand on a calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.time import DAY, HOUR, Window
from apps.dashboard import period

NOW = datetime(2026, 11, 30, 9, 24, 10, tzinfo=UTC)


def at(month: int, day: int, hour: int = 0, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "window", "before"),
    [
        ({}, (at(11, 24), at(11, 30, 10)), (at(11, 17), at(11, 23, 10))),
        ({"range": "1h"}, (at(11, 30, 8), at(11, 30, 10)), (at(11, 30, 6), at(11, 30, 8))),
        ({"range": "24h"}, (at(11, 29, 9), at(11, 30, 10)), (at(11, 28, 8), at(11, 29, 9))),
        ({"range": "3d"}, (at(11, 28), at(11, 30, 10)), (at(11, 25), at(11, 27, 10))),
        ({"range": "28d"}, (at(11, 3), at(11, 30, 10)), (at(10, 6), at(11, 2, 10))),
        ({"range": "today"}, (at(11, 30), at(11, 30, 10)), (at(11, 29), at(11, 29, 10))),
        # October has 31 days, so that the same 30 days and some hours fit in it.
        ({"range": "mtd"}, (at(11, 1), at(11, 30, 10)), (at(10, 1), at(10, 30, 10))),
        ({"range": "last-month"}, (at(10, 1), at(11, 1)), (at(9, 1), at(10, 1))),
        ({"from": "2026-11-01", "to": "2026-11-02"}, (at(11, 1), at(11, 3)), (at(10, 30), at(11, 1))),
        (
            {"from": "2026-11-01T06:30Z", "to": "2026-11-01T07:30Z"},
            (at(11, 1, 6), at(11, 1, 8)),
            (at(11, 1, 4), at(11, 1, 6)),
        ),
        ({"from": "now-2d"}, (at(11, 28, 9), at(11, 30, 10)), (at(11, 26, 8), at(11, 28, 9))),
        ({"from": "2026-11-29T10:00:00+02:00"}, (at(11, 29, 8), at(11, 30, 10)), (at(11, 28, 6), at(11, 29, 8))),
        ({"from": "2026-11-29T10:00:00 02:00"}, (at(11, 29, 8), at(11, 30, 10)), (at(11, 28, 6), at(11, 29, 8))),
    ],
)
def test_a_range_resolves_to_whole_hours_and_a_comparison(
    query: dict[str, str], window: tuple[datetime, datetime], before: tuple[datetime, datetime]
) -> None:
    found = period.parse(query, NOW)
    assert found.window == Window(*window)
    assert found.before == Window(*before)
    assert found.ignored == ()


@pytest.mark.parametrize(
    ("first_fact", "key"),
    [
        (at(11, 17), "7d"),
        (at(11, 17, 1), "3d"),
        (at(11, 25), "3d"),
        (at(11, 25, 1), "24h"),
        (at(11, 28, 8), "24h"),
        (at(11, 28, 9), "7d"),
    ],
)
def test_with_little_data_a_bare_address_shows_the_longest_range_that_can_be_compared(
    first_fact: datetime, key: period.Key
) -> None:
    assert period.default_for("7d", Window(first_fact, NOW), NOW) == key


def test_a_page_with_a_default_of_its_own_keeps_it() -> None:
    assert period.default_for("24h", Window(at(11, 29), NOW), NOW) == "24h"
    assert period.default_for("7d", None, NOW) == "7d"


def test_month_to_date_is_compared_with_no_more_than_the_whole_month_before() -> None:
    found = period.parse({"range": "mtd"}, at(3, 31, 12))
    assert found.before == Window(at(2, 1), at(3, 1))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"range": "7x"}, "ignored range=7x"),
        ({"from": "yesterday"}, "ignored from=yesterday"),
        ({"from": "2026-11-30", "to": "2026-11-01"}, "a range begins before it ends"),
        ({"from": "2027-01-01"}, "before now"),
        ({"from": "2020-01-01"}, "at most 400 days"),
        ({"from": "now-99999999999d"}, "ignored from=now-99999999999d"),
        ({"from": "0001-01-01T00:00:00+14:00"}, "ignored from="),
        ({"to": "0001-01-01"}, "ignored to=0001-01-01"),
        ({"to": "0001-01-02T00:00Z"}, "ignored to=0001-01-02T00:00Z"),
        ({"from": "0001-01-02", "to": "0001-01-05"}, "ignored from=0001-01-02"),
        ({"to": "9999-12-31"}, "ignored to=9999-12-31"),
        ({"from": "now-999999d"}, "ignored from=now-999999d"),
        ({"compare": "sideways"}, "ignored compare=sideways"),
    ],
)
def test_what_is_not_understood_is_left_out_and_named(query: dict[str, str], says: str) -> None:
    found = period.parse(query, NOW)
    assert found.key == "7d"
    assert found.before is not None
    assert any(says in note for note in found.ignored), found.ignored


_ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))) | st.none()
_DATES = st.dates().map(str) | st.datetimes(timezones=_ZONES).map(datetime.isoformat)
_SINCE = st.builds("now-{}{}".format, st.integers(0, 10**8), st.sampled_from("mhdx"))
_ANY = st.text() | _DATES | _SINCE | st.sampled_from(["", "now", "7d", "off", "prev", "\0", "0001-01-01", "9999-12-31"])


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["from", "to", "range", "compare"]), _ANY))
def test_whatever_is_asked_gives_a_range(query: dict[str, str]) -> None:
    found = period.parse(query, NOW)
    assert found.window.start < found.window.end <= at(11, 30, 10)
    assert period.bucket_starts(found.window, found.bucket)
    if found.before is not None:
        assert period.bucket_starts(found.before, found.bucket)


def test_comparing_can_be_switched_off_and_stays_in_links() -> None:
    found = period.parse({"compare": "off"}, NOW)
    assert found.before is None
    assert found.query == {"compare": "off"}


def test_defaults_are_not_written_into_links() -> None:
    assert period.parse({"range": "7d"}, NOW).query == {}
    assert period.parse({"range": "24h"}, NOW).query == {"range": "24h"}
    assert period.parse({"range": "24h"}, NOW, "24h").query == {}


def test_nothing_is_compared_when_the_data_begin_later() -> None:
    found = period.parse({}, NOW)
    assert found.before is not None
    data = Window(found.before.start + HOUR, NOW)
    assert period.comparable(found, data).before is None
    assert period.comparable(found, Window(found.before.start, NOW)).before == found.before
    assert period.comparable(found, None).before is None


def test_the_unfinished_bucket_is_the_one_of_now() -> None:
    assert period.parse({}, NOW).unfinished == at(11, 30)
    assert period.parse({"range": "24h"}, NOW).unfinished == at(11, 30, 9)
    assert period.parse({"range": "last-month"}, NOW).unfinished is None


def test_buckets_cover_the_window_without_gaps() -> None:
    window = Window(at(11, 28, 9), at(11, 30, 10))
    assert period.bucket_starts(window, "day") == [at(11, 28), at(11, 29), at(11, 30)]
    assert len(period.bucket_starts(window, "hour")) == 49


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.text(max_size=12),
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_any_query_gives_a_sane_period(start: str, end: str, name: str, now: datetime) -> None:
    found = period.parse({"from": start, "to": end, "range": name, "compare": name}, now)
    assert timedelta(0) < found.window.length <= period.LONGEST + 2 * HOUR
    assert found.window.start.minute == found.window.end.minute == 0
    assert found.window.end <= now + HOUR
    if found.before is not None:
        assert found.before.end <= found.window.end - (DAY if found.key == "today" else timedelta(0))
    starts = period.bucket_starts(found.window, found.bucket)
    assert starts[0] <= found.window.start and starts[-1] < found.window.end
