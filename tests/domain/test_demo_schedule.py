"""The demo's week: copies that never overlap, records whose latencies are untouched, engines that go on counting."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.config.recording.layout import NoRecording, Recording, open_recording
from apps.config.recording.page_text import shifted
from apps.config.recording.rhythm import WEEK_SECONDS, copy_starts
from apps.config.recording.schedule import ANCHOR_LEAD_SECONDS, Schedule
from apps.config.recording.state import DemoState, load_state
from apps.config.recording.template import Template, outcome_template, payload_template
from apps.ingest.domain.engine_minutes import lay
from apps.ingest.sources.vllm import read_page

NOW = int(datetime(2027, 3, 17, 15, 42, 7, tzinfo=UTC).timestamp())
LENGTH = 2115


@pytest.fixture(scope="module")
def recording() -> Recording:
    return open_recording(Path(__file__).parents[2] / "recordings" / "two-engines")


@pytest.fixture(scope="module")
def schedule(recording: Recording) -> Schedule:
    return Schedule(recording, NOW - ANCHOR_LEAD_SECONDS)


@settings(max_examples=60, deadline=None)
@given(st.integers(1_500_000_000, 2_000_000_000))
def test_a_week_of_copies(anchor: int) -> None:
    starts = copy_starts(anchor=anchor, length=LENGTH, since=anchor - WEEK_SECONDS, until=anchor + WEEK_SECONDS)
    assert all(later - earlier > LENGTH for earlier, later in zip(starts, starts[1:], strict=False))
    before = [start for start in starts if start <= anchor]
    assert 39 <= len(before) <= 43
    assert before[-1] == anchor
    later_question = copy_starts(anchor=anchor, length=LENGTH, since=anchor - 100, until=anchor + 3 * WEEK_SECONDS)
    assert later_question[: len(starts) - len(before) + 1] == [anchor, *starts[len(before) :]]


def test_days_are_busier_than_nights_and_weekends() -> None:
    anchor = int(datetime(2027, 3, 17, 12, 0, tzinfo=UTC).timestamp())
    starts = copy_starts(anchor=anchor, length=LENGTH, since=anchor - 4 * WEEK_SECONDS, until=anchor)
    moments = [datetime.fromtimestamp(start, UTC) for start in starts]
    assert {moment.hour for moment in moments} <= set(range(7, 19))
    days = Counter(moment.weekday() for moment in moments)
    assert max(days[5], days[6]) < min(days[day] for day in range(5)) / 2


def times(payload: dict[str, Any]) -> list[float]:
    return [payload["startTime"], payload["completionStartTime"], payload["endTime"]]


def test_a_shifted_page_began_later_and_counts_the_same() -> None:
    page = (
        b"# TYPE process_start_time_seconds gauge\n"
        b"process_start_time_seconds 1.5e+09\n"
        b'vllm:prompt_tokens_total{model_name="a b"} 5.0\n'
        b'vllm:prompt_tokens_created{model_name="a b"} 1500000001.5\n'
    )
    assert shifted(page, 100) == (
        b"# TYPE process_start_time_seconds gauge\n"
        b"process_start_time_seconds 1500000100.0\n"
        b'vllm:prompt_tokens_total{model_name="a b"} 5.0\n'
        b'vllm:prompt_tokens_created{model_name="a b"} 1500000101.5\n'
    )
    assert shifted(page, 0) is page


def test_a_shifted_payload_differs_in_times_and_ids_only(recording: Recording) -> None:
    shift, tag = 86_400 * 3 + 17, b"-c0ffee"
    for logged in recording.requests[::97]:
        before = json.loads(logged.template.at(0, b""))
        after = json.loads(logged.template.at(shift, tag))
        for field in ("id", "litellm_call_id", "trace_id"):
            assert after[field] == before[field] + "-c0ffee"
        task = before["metadata"]["requester_metadata"]["task_id"]
        assert after["metadata"]["requester_metadata"]["task_id"] == task + "-c0ffee"
        for earlier, later in zip(times(before), times(after), strict=True):
            assert round(later * 1e6) - round(earlier * 1e6) == shift * 1_000_000
        assert after["session_id"] == before["session_id"] == ""
        assert Counter(map(str, flat(before))) - Counter(map(str, flat(after))) != Counter()
        changed = [(a, b) for a, b in zip(flat(before), flat(after), strict=True) if a != b]
        assert 7 <= len(changed) <= 10


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for child in value.values() for leaf in flat(child)]
    if isinstance(value, list):
        return [leaf for child in value for leaf in flat(child)]
    return [value]


def test_without_a_shift_the_bytes_are_the_recorded_ones() -> None:
    line = (
        b'{"id": "a", "litellm_call_id": "a", "trace_id": "ab", "startTime": 1796023971.264828, '
        b'"endTime": 1796023971, "metadata": {"requester_metadata": {"task_id": "t\\"1"}}, "note": "a"}'
    )
    assert payload_template(line).at(0, b"") == line
    assert payload_template(line).at(10, b"-x") == (
        b'{"id": "a-x", "litellm_call_id": "a-x", "trace_id": "ab-x", "startTime": 1796023981.264828, '
        b'"endTime": 1796023981, "metadata": {"requester_metadata": {"task_id": "t\\"1-x"}}, "note": "a-x"}'
    )


def test_an_outcome_moves_with_its_task() -> None:
    line = b'{"task_id": "t-1", "accepted": true, "decided_at": 1796023974.6249104}'
    assert outcome_template(line) == Template(
        (b'{"task_id": "t-1', b'", "accepted": true, "decided_at": ', b".6249104}"), (None, 1796023974)
    )


def test_every_record_of_a_copy_comes_once_however_time_is_cut(schedule: Schedule) -> None:
    start = schedule.starts(NOW)[-2]
    end = start + schedule.length
    whole = list(schedule.outcomes(start, end))
    assert len(whole) == 2886
    cuts = [start, start + 100, start + 101, start + 1500, end]
    pieces = [line for since, until in zip(cuts, cuts[1:], strict=False) for line in schedule.outcomes(since, until)]
    assert sorted(pieces) == sorted(whole)
    assert sum(1 for _ in schedule.requests(start, end)) == 6125
    assert list(schedule.requests(end, end + 60)) == []


def test_a_week_holds_about_a_quarter_of_a_million_requests(schedule: Schedule) -> None:
    whole = [start for start in schedule.starts(NOW) if start + schedule.length <= NOW]
    assert 235_000 < 6125 * len(whole) < 265_000


def test_engines_count_on_from_copy_to_copy(schedule: Schedule) -> None:
    """Two days: no gap but the recorded outage, one restart a copy of the engine that restarts, tokens as recorded."""
    starts = schedule.starts(NOW)
    since, until = starts[3] - 3600, starts[12] - 60
    for replica, tokens, restarts in (("granite-large-0", 912_005, 0), ("granite-small-0", 962_726, 1)):
        laid = lay(None, schedule.scrapes(replica, since, until))
        minutes = laid.minutes.values()
        assert sum(minute.resets for minute in minutes) == 9 * restarts
        assert sum(minute.counters.get("prompt_tokens", 0) for minute in minutes) == pytest.approx(9 * tokens)
        assert len(laid.spans) == 2 * 9 * restarts
        covered = sum(minute.covered_seconds for minute in minutes)
        assert covered == pytest.approx(until - since - 9 * 121 * restarts, abs=60)
        busy = sum(minute.busy_seconds for minute in minutes)
        assert busy == pytest.approx(9 * (2112 - 121 * restarts), abs=9 * 30)
        assert max(minute.gauges["running"].max for minute in minutes) > 0


def test_laying_in_pieces_is_laying_at_once(schedule: Schedule) -> None:
    starts = schedule.starts(NOW)
    since, until = starts[5] - 500, starts[7]
    whole = list(schedule.scrapes("granite-small-0", since, until))
    pieces = []
    for moment in range(since, until, 1003):
        pieces += schedule.scrapes("granite-small-0", moment, min(moment + 1003, until))
    first = {scrape.at: scrape.sample.counters["prompt_tokens"] for scrape in whole}
    second = {scrape.at: scrape.sample.counters["prompt_tokens"] for scrape in pieces}
    busy = {scrape.at for scrape in whole if scrape.sample.gauges["running"].value > 0}
    assert all(second[moment] == first[moment] for moment in busy)
    assert lay(None, pieces).minutes.keys() == lay(None, whole).minutes.keys()


@pytest.mark.parametrize("replica", ["granite-large-0", "granite-small-0"])
def test_the_page_served_says_what_was_laid(schedule: Schedule, replica: str) -> None:
    """The text that the live demo serves continues, to the digit, the samples that were laid before it."""
    starts = schedule.starts(NOW)
    track = schedule.tracks[replica]
    for copy in (0, 5, len(starts) - 1):
        for place in (0, 10, 60, len(track.moments) - 1):
            page = schedule.page(replica, starts[copy] + track.moments[place] + 1)
            assert page is not None
            served = read_page(page)
            laid = track.sample(place, copy, starts, schedule.first_process_start)
            assert served.gauges == laid.gauges
            assert served.process_start == laid.process_start
            assert served.created == pytest.approx(laid.created, abs=0.1)
            assert served.counters.keys() == laid.counters.keys()
            for name, series in laid.counters.items():
                assert served.counters[name] == pytest.approx(series)
            for name, points in laid.histograms.items():
                for key, point in points.items():
                    assert served.histograms[name][key].cumulative == point.cumulative
                    assert served.histograms[name][key].sum == pytest.approx(point.sum)


def test_pages_between_copies_are_idle_and_none_while_the_engine_is_down(schedule: Schedule) -> None:
    start = schedule.starts(NOW)[3]
    assert schedule.page("granite-small-0", start + 860) is None, "the recorded outage, 815 to 936 s"
    assert schedule.page("granite-large-0", start + 860) is not None
    idle = schedule.page("granite-large-0", start + schedule.length + 40)
    assert idle is not None
    sample = read_page(idle)
    assert sample.gauges["running"].value == 0
    assert sample.gauges["kv_usage"].max == 0


def test_a_directory_that_is_no_recording_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match="not a directory"):
        open_recording(tmp_path / "nowhere")
    with pytest.raises(NoRecording, match="neither gateway.ndjson.gz nor metrics"):
        open_recording(tmp_path)


def test_state_survives_and_a_broken_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "var" / "demo.json"
    assert load_state(path) is None
    DemoState(anchor=5, until=9, port=8123).save(path)
    assert load_state(path) == DemoState(5, 9, 8123)
    path.write_text("{")
    assert load_state(path) is None
