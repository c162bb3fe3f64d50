"""Figures: only traces that the smallest Plotly bundle draws, the same numbers in the table, gaps as nulls."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from apps.core.time import HOUR, Window
from apps.dashboard import charts
from apps.dashboard import format as words

START = datetime(2026, 11, 30, 6, tzinfo=UTC)
TIMES = charts.Times(
    [START, START + HOUR, START + 2 * HOUR], "hour", Window(START, START + 3 * HOUR), unfinished=START + 2 * HOUR
)


def test_bars_carry_their_numbers_in_words_and_mark_the_unfinished_bucket() -> None:
    series = [charts.Series("used", [1.0, None, 3.0], "@series-1")]
    chart = charts.stacked_bars("spend", "Spend", TIMES, series, lambda v: f"${v:.2f}")
    trace = chart.figure["data"][0]
    assert trace["type"] == "bar"
    assert trace["y"] == [1.0, None, 3.0]
    assert trace["customdata"] == ["$1.00", "—", "$3.00"]
    assert trace["marker"]["opacity"] == [1.0, 1.0, 0.5]
    assert chart.rows == [["30 Nov 06:00", "$1.00"], ["30 Nov 08:00", "$3.00"]]
    assert chart.label == "Spend. used from $1.00 to $3.00"
    assert chart.note == "The last hour is not over yet."


def test_lines_break_at_gaps_and_lone_points_keep_a_marker() -> None:
    series = [charts.Series("a", [1.0, None, 3.0], "@series-1")]
    chart = charts.lines("a", "A", TIMES, series, words.compact, marks=[charts.Mark(START)])
    trace = chart.figure["data"][0]
    assert trace["type"] == "scatter"
    assert trace["connectgaps"] is False
    assert "markers" in trace["mode"]
    assert chart.figure["layout"]["shapes"][0]["type"] == "line"
    assert json.loads(json.dumps(chart.figure)) == chart.figure


def test_long_tables_say_the_largest_of_each_run() -> None:
    starts = [START + n * HOUR for n in range(120)]
    times = charts.Times(starts, "minute", Window(START, START + 120 * HOUR), None, HOUR)
    series = [charts.Series("a", [float(n) for n in range(120)], "@series-1")]
    chart = charts.lines("a", "A", times, series, words.compact)
    assert len(chart.figure["data"][0]["y"]) == 120
    assert len(chart.rows) == 60
    assert chart.rows[0] == ["30 Nov 06:00", "1"]
    assert chart.head[0] == "From (largest of 2 h)"
