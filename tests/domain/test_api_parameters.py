"""Query strings of the API: what is understood, and what is said about the rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.api.domain.cursors import Cursor, decode
from apps.api.domain.parameters import Accepted, Question, parse
from apps.core.errors import InvalidInput
from apps.core.query import DIMENSIONS
from apps.core.time import Window

NOW = datetime(2026, 11, 30, 14, 20, 5, tzinfo=UTC)
ALL = Accepted(group_by=DIMENSIONS, filters=DIMENSIONS, bucketed=True, paged=True)


def ask(accepted: Accepted = ALL, **query: str) -> Question:
    names = {name.rstrip("_"): [value] for name, value in query.items()}
    return parse(path="/api/v1/usage", query=names, accepted=accepted, now=NOW)


def problems(accepted: Accepted = ALL, **query: str) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidInput) as caught:
        ask(accepted, **query)
    return [(p.field, p.code, p.message) for p in caught.value.problems]


def at(day: int, hour: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


def test_nothing_given_is_the_last_week_with_the_running_hour() -> None:
    question = ask()
    assert question.window == Window(at(23, 15), at(30, 15))
    assert (question.bucket, question.group_by, question.limit, question.after) == ("total", (), 200, None)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ({"range": "24h"}, at(29, 15), at(30, 15)),
        ({"range": "2w"}, at(16, 15), at(30, 15)),
        ({"from_": "2026-11-01", "to": "2026-11-30"}, at(1), at(30)),
        ({"from_": "2026-11-01"}, at(1), at(30, 15)),
        ({"from_": "2026-11-29T22:00:00Z", "to": "2026-11-30T01:00Z"}, at(29, 22), at(30, 1)),
        ({"from_": "2026-11-30T02:00:00+02:00", "to": "2026-11-30T01:00:00+00:00"}, at(30), at(30, 1)),
        ({"from_": "2026-11-30T02:00:00 02:00", "to": "2026-11-30T01:00:00z"}, at(30), at(30, 1)),
        ({"range": "7d", "bucket": "day"}, at(23), at(30, 15)),
    ],
)
def test_windows(query: dict[str, str], start: datetime, end: datetime) -> None:
    assert ask(**query).window == Window(start, end)


def test_a_period_is_a_calendar_month() -> None:
    monthly = Accepted(period=True, default_range=None)
    window = ask(monthly, period="2026-12").window
    assert window == Window(datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    assert [p[:2] for p in problems(monthly, period="2026-13")] == [("period", "wrong_value")]
    assert [p[:2] for p in problems(monthly, period="2026-11", range="7d")] == [("period", "conflict")]
    assert [p[:2] for p in problems(monthly)] == [("from", "missing")]


@pytest.mark.parametrize(
    ("query", "field", "code", "says"),
    [
        ({"range": "7x"}, "range", "wrong_value", "use e.g. 24h, 7d or 4w"),
        ({"range": "0d"}, "range", "wrong_value", "use e.g."),
        ({"range": "99999w"}, "range", "out_of_range", "1098 days"),
        ({"range": "7d", "from_": "2026-11-01"}, "range", "conflict", "not both"),
        ({"to": "2026-11-01"}, "from", "missing", "add from"),
        ({"from_": "yesterday"}, "from", "wrong_value", "2026-11-30T14:00:00Z"),
        ({"from_": "2026-02-30"}, "from", "wrong_value", "no date"),
        ({"from_": "2026-11-30T14:00:00"}, "from", "wrong_value", "with Z or an offset"),
        ({"from_": "2026-11-30T14:30:00Z"}, "from", "not_on_the_hour", "2026-11-30T14:00:00Z or 2026-11-30T15:00:00Z"),
        ({"from_": "0001-01-01T00:00:00+23:59"}, "from", "wrong_value", "no date"),
        ({"from_": "1999-12-31"}, "from", "out_of_range", "2000"),
        ({"from_": "2026-11-30", "to": "2026-11-30"}, "to", "end_before_start", "exclusive"),
        ({"from_": "2027-01-01"}, "from", "out_of_range", "future"),
        ({"from_": "2026-11-30T05:00:00Z", "bucket": "day"}, "from", "not_on_the_day", "use 2026-11-30"),
        ({"bucket": "week"}, "bucket", "wrong_value", "total, hour, day"),
        ({"group_by": "team,colour"}, "group_by", "wrong_value", "team, endpoint, model, replica, key"),
        ({"group_by": ""}, "group_by", "wrong_value", "empty element"),
        ({"team": "support,,search"}, "team", "wrong_value", "team=one,two"),
        ({"limit": "0"}, "limit", "wrong_value", "between 1 and 1000"),
        ({"limit": "²"}, "limit", "wrong_value", "between 1 and 1000"),
        ({"groupby": "team"}, "groupby", "unknown_parameter", "did you mean group_by?"),
        ({"colour": "red"}, "colour", "unknown_parameter", "known are from, to, range"),
        ({"cursor": "nonsense"}, "cursor", "wrong_value", "next_cursor"),
        ({"team": "a\x00b"}, "team", "wrong_value", "NUL"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_right(query: dict[str, str], field: str, code: str, says: str) -> None:
    found = problems(**query)
    assert [(f, c) for f, c, _ in found] == [(field, code)]
    assert says in found[0][2]


def test_all_problems_are_told_at_once() -> None:
    found = problems(range="7x", bucket="week", limit="none", group_by="colour")
    assert {field for field, _, _ in found} == {"range", "bucket", "limit", "group_by"}


def test_a_parameter_given_twice_is_named() -> None:
    with pytest.raises(InvalidInput, match="given 2 times"):
        parse(path="/", query={"limit": ["1", "2"]}, accepted=ALL, now=NOW)


def test_groups_keep_the_callers_order_without_repeats() -> None:
    assert ask(group_by="model,team,model").group_by == ("model", "team")
    assert ask(team="b,a,b").slugs == {"team": ("b", "a")}


def test_a_cursor_pins_the_window_of_its_question() -> None:
    first = ask(range="7d", group_by="team", limit="10")
    cursor = first.cursor((0, 7))
    later = parse(
        path="/api/v1/usage",
        query={"range": ["7d"], "group_by": ["team"], "limit": ["5"], "cursor": [cursor]},
        accepted=ALL,
        now=NOW + timedelta(hours=3),
    )
    assert (later.window, later.after) == (first.window, (0, 7))


def test_a_cursor_of_another_question_is_refused() -> None:
    cursor = ask(range="7d", group_by="team").cursor((0, 7))
    found = problems(range="7d", group_by="model", cursor=cursor)
    assert found[0][:2] == ("cursor", "wrong_value")
    assert "another question" in found[0][2]


@settings(max_examples=200)
@given(st.text(max_size=60) | st.binary(max_size=40).map(lambda b: b.hex()))
def test_no_text_as_a_cursor_does_more_than_be_refused(raw: str) -> None:
    with pytest.raises(InvalidInput):
        decode(raw, "q")


@settings(max_examples=100)
@given(
    st.integers(0, 4_000_000_000_000_000),
    st.integers(0, 10**12),
    st.lists(st.integers(-(2**62), 2**62), max_size=6),
)
def test_cursors_come_back_as_they_went(start: int, length: int, position: list[int]) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=start)
    cursor = Cursor("q", Window(moment, moment + timedelta(microseconds=length)), tuple(position))
    assert decode(cursor.encode(), "q") == cursor


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from([*ALL.names(), "period", "x"]), st.text(max_size=30), max_size=6))
def test_no_query_is_too_odd_to_answer(query: dict[str, str]) -> None:
    try:
        parse(path="/", query={k: [v] for k, v in query.items()}, accepted=ALL, now=NOW)
    except InvalidInput as error:
        assert error.problems
