"""The recording of two engines, through the services: every engine figure of its expected.json."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apps.core.time import Window
from apps.ingest import selectors, services
from apps.ingest.domain.engine_sample import Scrape
from apps.ingest.models import ArrivalHour
from apps.ingest.sources.vllm import read_page

RECORDING = Path(__file__).parents[2] / "recordings" / "two-engines"
ENGINES: dict[str, dict[str, Any]] = json.loads((RECORDING / "expected.json").read_text())["engines"]

COUNTERS = {
    "prompt_tokens_total": "prompt_tokens",
    "generation_tokens_total": "generation_tokens",
    "prompt_tokens_cached_total": "cached_prompt_tokens",
    "prefix_cache_queries_total": "prefix_queries",
    "prefix_cache_hits_total": "prefix_hits",
    "num_preemptions_total": "preemptions",
    "spec_decode_num_draft_tokens_total": "spec_draft_tokens",
    "spec_decode_num_accepted_tokens_total": "spec_accepted_tokens",
}
HISTOGRAM_SUMS = {
    "request_prefill_time_seconds_sum": "prefill_time",
    "request_decode_time_seconds_sum": "decode_time",
}
HISTOGRAM_COUNTS = {
    "time_to_first_token_seconds_count": "ttft",
    "e2e_request_latency_seconds_count": "e2e",
}
MAXIMA = {
    "max_kv_cache_usage_perc": "kv_usage",
    "max_num_requests_running": "running",
    "max_num_requests_waiting": "waiting",
}
SCRAPES = {"scrapes", "first", "last", "counter_resets"}


@cache
def pages(replica: str) -> list[tuple[datetime, bytes]]:
    files = sorted((RECORDING / "metrics" / replica).glob("*.prom.gz"))
    return [
        (datetime.fromtimestamp(int(file.name.split(".")[0]), UTC), gzip.decompress(file.read_bytes()))
        for file in files
    ]


@pytest.fixture
def recorded(db: None) -> Window:
    for replica in ENGINES:
        target = services.ensure_target(spec=services.TargetSpec(name=replica, url=""))
        for at, page in pages(replica):
            assert services.store_scrape(target_id=target, page=page, at=at).stored
    firsts = [engine["first"] for engine in ENGINES.values()]
    start = datetime.fromtimestamp(min(firsts), UTC) - timedelta(minutes=1)
    return Window(start, start + timedelta(hours=1))


def test_every_engine_figure_of_the_recording(recorded: Window) -> None:
    healths = {target.name: target for target in selectors.targets()}
    for replica, expected in ENGINES.items():
        rows = selectors.engine_minutes(recorded, [replica])
        counters: Counter[str] = Counter()
        sums: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for row in rows:
            counters.update(row.counters)
            sums.update({name: histogram.sum for name, histogram in row.histograms.items()})  # type: ignore[arg-type]
            counts.update({name: histogram.count for name, histogram in row.histograms.items()})  # type: ignore[arg-type]
        compared = set(SCRAPES)
        assert sum(row.scrapes for row in rows) == expected["scrapes"]
        assert sum(row.resets for row in rows) == expected["counter_resets"]
        assert healths[replica].last_ok_at == datetime.fromtimestamp(expected["last"], UTC)
        assert healths[replica].healthy is True
        for theirs, ours in COUNTERS.items():
            if theirs in expected:
                assert counters[ours] == expected[theirs], (replica, theirs)
                compared.add(theirs)
        for theirs, ours in HISTOGRAM_SUMS.items():
            if theirs in expected:
                assert round(sums[ours], 6) == expected[theirs], (replica, theirs)
                compared.add(theirs)
        for theirs, ours in HISTOGRAM_COUNTS.items():
            assert counts[ours] == expected[theirs], (replica, theirs)
            compared.add(theirs)
        for theirs, ours in MAXIMA.items():
            assert max(row.gauges[ours].max for row in rows) == expected[theirs], (replica, theirs)
            compared.add(theirs)
        assert compared == expected.keys() | SCRAPES
        for row in rows:
            for histogram in row.histograms.values():
                assert sum(histogram.counts) == histogram.count
                assert len(histogram.counts) == len(histogram.bounds) + 1


@pytest.fixture
def around_the_restart(db: None) -> Window:
    """The scrapes of granite-small-0 from five before its outage to five behind it."""
    target = services.ensure_target(spec=services.TargetSpec(name="granite-small-0", url=""))
    for at, page in pages("granite-small-0")[50:60]:
        assert services.store_scrape(target_id=target, page=page, at=at).stored
    return Window.hour(pages("granite-small-0")[50][0])


def test_restart_makes_one_down_and_one_load_span(around_the_restart: Window) -> None:
    recorded = around_the_restart
    spans = selectors.engine_spans(recorded)
    last_good = datetime(2026, 11, 30, 7, 46, 23, tzinfo=UTC)
    process_start = datetime(2026, 11, 30, 7, 46, 53, 10_000, tzinfo=UTC)
    next_good = datetime(2026, 11, 30, 7, 48, 24, tzinfo=UTC)
    assert [(span.target, span.what, span.started, span.ended, span.open) for span in spans] == [
        ("granite-small-0", "down", last_good, process_start, False),
        ("granite-small-0", "load", process_start, next_good, False),
    ]
    restarted = [row for row in selectors.engine_minutes(recorded) if row.restarted_at]
    assert [(row.target, row.restarted_at) for row in restarted] == [("granite-small-0", process_start)]
    small = selectors.engine_minutes(recorded, ["granite-small-0"])
    # From the first of these to the last, less the gap of 121 s that nothing covers.
    whole = (pages("granite-small-0")[59][0] - pages("granite-small-0")[50][0]).total_seconds()
    assert sum(row.covered_seconds for row in small) == pytest.approx(whole - 121)


def test_the_same_pages_again_change_nothing(around_the_restart: Window) -> None:
    recorded = around_the_restart
    before = (selectors.engine_minutes(recorded), selectors.engine_spans(recorded), selectors.targets())
    versions = dict(ArrivalHour.objects.values_list("hour", "version"))
    for target in selectors.targets():
        for at, page in pages(target.name)[45:60]:
            assert not services.store_scrape(target_id=target.id, page=page, at=at).stored
    assert (selectors.engine_minutes(recorded), selectors.engine_spans(recorded), selectors.targets()) == before
    assert dict(ArrivalHour.objects.values_list("hour", "version")) == versions


def test_in_bulk_as_one_by_one(recorded: Window) -> None:
    singly = {name: selectors.engine_minutes(recorded, [name]) for name in ENGINES}
    for replica in ENGINES:
        target = services.ensure_target(spec=services.TargetSpec(name=f"{replica}-bulk", url=""))
        scrapes = [Scrape(at, read_page(page)) for at, page in pages(replica)]
        half = len(scrapes) // 2
        stored = services.store_scrapes(target_id=target, scrapes=scrapes[:half], now=scrapes[half].at)
        stored += services.store_scrapes(target_id=target, scrapes=scrapes[half - 3 :], now=scrapes[-1].at)
        assert stored == len(scrapes)
        bulk = selectors.engine_minutes(recorded, [f"{replica}-bulk"])
        for one, other in zip(singly[replica], bulk, strict=True):
            assert one.minute == other.minute
            assert one.scrapes == other.scrapes
            assert one.counters == other.counters
            assert one.covered_seconds == other.covered_seconds
            assert one.busy_seconds == other.busy_seconds
            assert one.histograms.keys() == other.histograms.keys()
            for name in one.gauges:
                assert one.gauges[name].mean == pytest.approx(other.gauges[name].mean)


def test_the_first_scrape_keeps_its_moment(recorded: Window) -> None:
    first = selectors.engine_minutes(recorded)[0]
    assert first.first_scrape_at == datetime.fromtimestamp(1796023968, UTC)
