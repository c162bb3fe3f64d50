"""Pages of grouped rows: whatever the page size, together they are the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.api.domain.pages import position, read_page
from apps.api.domain.parameters import Question
from apps.core.query import Bucket, Dimension
from apps.core.time import Window, day_floor

START = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    bucket: datetime | None
    ids: dict[Dimension, int]
    value: int


class Facts:
    """Hourly values by team, summed as a selector would."""

    def __init__(self, values: dict[tuple[int, int], int]) -> None:
        self.values = values
        self.calls = 0

    def ask(self, window: Window, bucket: Bucket) -> Sequence[Row]:
        self.calls += 1
        sums: dict[tuple[datetime | None, int], int] = {}
        for (hours, team), value in self.values.items():
            hour = START + timedelta(hours=hours)
            if window.contains(hour):
                start = {"total": None, "hour": hour, "day": day_floor(hour)}[bucket]
                sums[start, team] = sums.get((start, team), 0) + value
        return [Row(start, {"team": team}, value) for (start, team), value in sums.items()]


def question(bucket: Bucket, days: int, limit: int) -> Question:
    return Question("q", Window(START, START + timedelta(days=days)), ("team",), bucket, {}, limit, None)


@settings(max_examples=120)
@given(
    st.dictionaries(st.tuples(st.integers(0, 9 * 24), st.integers(0, 5)), st.integers(1, 9), max_size=60),
    st.sampled_from(["total", "hour", "day"]),
    st.integers(1, 7),
)
def test_pages_together_are_the_rows_of_the_window_once_in_order(
    values: dict[tuple[int, int], int], bucket: Bucket, limit: int
) -> None:
    facts, asked = Facts(values), question(bucket, 8, limit)
    expected = sorted(facts.ask(asked.window, bucket), key=lambda row: position(row, ("team",)))
    seen: list[Row] = []
    while True:
        page = read_page(asked, lambda window: facts.ask(window, bucket))
        assert len(page.rows) <= limit
        seen += page.rows
        if page.next_position is None:
            break
        assert len(page.rows) == limit
        asked = replace(asked, after=page.next_position)
    assert seen == expected


def test_a_page_of_a_long_window_reads_what_it_shows() -> None:
    facts = Facts({(hour, 1): 1 for hour in range(24 * 300)})
    page = read_page(question("hour", 300, 5), lambda window: facts.ask(window, "hour"))
    assert len(page.rows) == 5
    assert facts.calls == 1


def test_years_without_a_row_are_crossed_in_few_steps() -> None:
    facts = Facts({(24 * 1000, 1): 1})
    page = read_page(question("hour", 1001, 5), lambda window: facts.ask(window, "hour"))
    assert [row.value for row in page.rows] == [1]
    assert facts.calls < 20
