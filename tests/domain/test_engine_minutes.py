"""Differences between scrapes: conservation over resets, gaps, vanished series and changed buckets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.ingest.domain.engine_histograms import BucketCounts, merge, quantile_bucket
from apps.ingest.domain.engine_minutes import Laid, Span, lay
from apps.ingest.domain.engine_rows import minute_from_row, minute_to_row
from apps.ingest.domain.engine_sample import (
    EngineSample,
    GaugePoint,
    HistogramPoint,
    Scrape,
    scrape_from_json,
    scrape_to_json,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STARTED = NOON.timestamp() - 3600


def sample(
    tokens: float = 0.0,
    *,
    running: float = 0.0,
    start: float | None = STARTED,
    buckets: tuple[float, float, float] | None = None,
    bounds: tuple[float, float] = (1.0, 2.0),
    **counters: float,
) -> EngineSample:
    return EngineSample(
        engine="vllm",
        model="m",
        process_start=start,
        gauges={"running": GaugePoint(running, running)},
        counters={
            "prompt_tokens": {"": 0.0},
            "generation_tokens": {"": tokens},
            **{name: {"": value} for name, value in counters.items()},
        },
        histograms={} if buckets is None else {"ttft": {"": HistogramPoint(bounds, buckets, buckets[-1] * 1.5)}},
    )


def at(seconds: float, what: EngineSample) -> Scrape:
    return Scrape(NOON + timedelta(seconds=seconds), what)


def total(laid: Laid, name: str) -> float:
    return sum(minute.counters.get(name, 0.0) for minute in laid.minutes.values())


def test_the_first_scrape_is_only_the_base() -> None:
    laid = lay(None, [at(0, sample(500, running=2))])
    (minute,) = laid.minutes.values()
    assert minute.counters == {}
    assert (minute.scrapes, minute.covered_seconds) == (1, 0)
    assert minute.gauges["running"].max == 2


def test_a_difference_belongs_to_the_minute_of_the_later_scrape() -> None:
    laid = lay(None, [at(50, sample(100)), at(65, sample(130))])
    assert laid.minutes[NOON].counters == {}
    second = laid.minutes[NOON + timedelta(minutes=1)]
    assert second.counters == {"prompt_tokens": 0, "generation_tokens": 30}
    assert (second.covered_seconds, second.busy_seconds) == (15, 15)


@pytest.mark.parametrize(
    ("before", "after", "busy"),
    [
        (sample(5), sample(5), 0),
        (sample(5), sample(6), 15),
        (sample(5, running=1), sample(5), 15),
        (sample(5), sample(5, running=1), 15),
    ],
)
def test_busy_is_running_at_an_end_or_a_token_counter_that_moved(
    before: EngineSample, after: EngineSample, busy: float
) -> None:
    laid = lay(None, [at(0, before), at(15, after)])
    assert laid.minutes[NOON].busy_seconds == busy
    assert laid.minutes[NOON].covered_seconds == 15


@pytest.mark.parametrize(
    "later",
    [
        sample(7, preemptions=900, start=STARTED + 3600 + 10),
        sample(7, preemptions=900, start=None),
    ],
    ids=["the process start moved", "one counter fell"],
)
def test_one_sign_of_a_restart_resets_every_series(later: EngineSample) -> None:
    before = sample(100, preemptions=800, start=later.process_start and STARTED)
    laid = lay(None, [at(0, before), at(15, later)])
    minute = laid.minutes[NOON]
    assert minute.resets == 1
    assert minute.restarted_at == NOON + timedelta(seconds=10 if later.process_start else 15)
    assert minute.counters["generation_tokens"] == 7
    assert minute.counters["preemptions"] == 900, "it grew, but from zero"


def test_a_moved_created_time_is_a_restart_even_when_all_counters_grew() -> None:
    before = EngineSample("vllm", created=1000.0, counters={"prompt_tokens": {"": 5.0}})
    after = EngineSample("vllm", created=5000.0, counters={"prompt_tokens": {"": 50.0}})
    assert lay(None, [at(0, before), at(15, after)]).minutes[NOON].counters == {"prompt_tokens": 50}


def test_changed_buckets_are_a_new_generation() -> None:
    before, after = sample(10, buckets=(1, 2, 3)), sample(11, buckets=(5, 5, 6), bounds=(1.0, 4.0))
    minute = lay(None, [at(0, before), at(15, after)]).minutes[NOON]
    assert minute.resets == 1
    assert minute.histograms["ttft"] == BucketCounts((1.0, 4.0), (5, 0, 1), 9.0, 6)


def test_a_series_that_vanishes_and_comes_back_is_not_counted_twice() -> None:
    laid = lay(None, [at(0, sample(5, extra=40)), at(15, sample(6)), at(30, sample(7, extra=42))])
    assert total(laid, "extra") == 2


def test_a_series_that_appears_counts_from_zero() -> None:
    laid = lay(None, [at(0, sample(5)), at(15, sample(6, extra=3))])
    assert total(laid, "extra") == 3


def test_a_gap_covers_nothing_but_loses_no_tokens() -> None:
    laid = lay(None, [at(0, sample(5)), at(38, sample(9, running=1))])
    minute = laid.minutes[NOON]
    assert (minute.covered_seconds, minute.busy_seconds) == (0, 0)
    assert minute.counters["generation_tokens"] == 4
    assert laid.spans == []


def test_a_restart_in_a_gap_is_down_then_loading() -> None:
    reborn = sample(3, start=NOON.timestamp() + 40)
    laid = lay(None, [at(0, sample(5)), at(100, reborn)])
    born = NOON + timedelta(seconds=40)
    assert laid.spans == [Span("down", NOON, born), Span("load", born, NOON + timedelta(seconds=100))]


def test_a_long_gap_in_which_nobody_asked_says_nothing_even_if_the_engine_restarted() -> None:
    reborn = sample(3, start=NOON.timestamp() + 40)
    assert lay(at(0, sample(5)), [at(600, reborn)]).spans != []
    assert lay(at(0, sample(5)), [at(601, reborn)]).spans == []
    assert lay(at(0, sample(5)), [at(601, reborn)], failed_since_base=True).spans == [
        Span("down", NOON, NOON + timedelta(seconds=40)),
        Span("load", NOON + timedelta(seconds=40), NOON + timedelta(seconds=601)),
    ]


def test_a_minute_knows_its_first_scrape() -> None:
    laid = lay(None, [at(7, sample(5)), at(22, sample(9))])
    assert laid.minutes[NOON].first_scrape_at == NOON + timedelta(seconds=7)
    again = lay(laid.last, [at(37, sample(12))], minutes=laid.minutes)
    assert again.minutes[NOON].first_scrape_at == NOON + timedelta(seconds=7)


def test_the_same_process_was_down_only_if_it_was_asked_and_did_nothing() -> None:
    still, worked = sample(5), sample(6)
    down = [Span("down", NOON, NOON + timedelta(seconds=100))]
    assert lay(at(0, still), [at(100, still)], failed_since_base=True).spans == down
    assert lay(at(0, still), [at(100, still)], failed_since_base=False).spans == []
    assert lay(at(0, still), [at(100, worked)], failed_since_base=True).spans == []


def test_old_and_repeated_scrapes_change_nothing() -> None:
    scrapes = [at(0, sample(5)), at(15, sample(9)), at(15, sample(9)), at(0, sample(5)), at(30, sample(12))]
    laid = lay(None, scrapes)
    assert laid.stored == 3
    assert total(laid, "generation_tokens") == 7


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=6), min_size=1, max_size=4), st.data())
def test_totals_over_restarts_do_not_depend_on_where_the_run_is_cut(
    lives: list[list[int]], data: st.DataObject
) -> None:
    """Each life adds its own increments; the very first value is the base and counts for nothing."""
    scrapes: list[Scrape] = []
    for number, steps in enumerate(lives):
        value = 0
        for step in steps:
            value += step
            start = STARTED + number * 5000
            scrapes.append(at(15 * len(scrapes), sample(value, start=start, buckets=(value, value, value))))
    expected = sum(sum(steps) for steps in lives) - lives[0][0]
    cut = data.draw(st.integers(0, len(scrapes)))
    first = lay(None, scrapes[:cut])
    last = first.last and scrape_from_json(scrape_to_json(first.last))
    stored = {minute: minute_from_row(minute_to_row(value)) for minute, value in first.minutes.items()}
    whole = lay(last, scrapes[cut:], minutes=stored)
    assert total(whole, "generation_tokens") == expected
    assert sum(m.histograms["ttft"].count for m in whole.minutes.values() if "ttft" in m.histograms) == expected
    assert sum(minute.resets for minute in whole.minutes.values()) == len(lives) - 1
    assert sum(minute.scrapes for minute in whole.minutes.values()) == len(scrapes)


def test_histograms_with_other_buckets_meet_on_the_bounds_both_have() -> None:
    a = BucketCounts((1.0, 2.0, 4.0), (1, 2, 3, 4), 20.0, 10)
    b = BucketCounts((2.0, 3.0, 4.0), (5, 6, 7, 8), 70.0, 26)
    # At most 2: 3 and 5. In (2, 4]: 3 and 13. Above 4: 4 and 8.
    assert merge(a, b) == BucketCounts((2.0, 4.0), (8, 16, 12), 90.0, 36)


def test_a_quantile_names_its_bucket() -> None:
    histogram = BucketCounts((0.1, 0.5, 1.0), (5, 3, 1, 1), 4.0, 10)
    assert quantile_bucket(histogram, 0.5) == (0.0, 0.1)
    assert quantile_bucket(histogram, 0.8) == (0.1, 0.5)
    assert quantile_bucket(histogram, 0.9) == (0.5, 1.0)
    assert quantile_bucket(histogram, 1.0) == (1.0, None)
    assert quantile_bucket(BucketCounts((1.0,), (0, 0), 0.0, 0), 0.5) is None
