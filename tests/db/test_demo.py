"""The demo and the replay, on a small recording: the same numbers whichever way, and never twice."""

from __future__ import annotations

import gzip
import json
import shutil
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest
import requests
from django.core.management import CommandError, call_command
from pytest_django.live_server_helper import LiveServer

from apps.api.views.base import Endpoint
from apps.config.recording import demo as demo_module
from apps.config.recording import schedule as schedule_module
from apps.config.recording.demo import Demo, api_key, ensure_targets, prepare, source_of
from apps.config.recording.fill import chunked
from apps.config.recording.layout import open_recording
from apps.config.recording.live import Gateway, NotTaken, post_due
from apps.config.recording.pages_server import PagesServer
from apps.config.recording.schedule import Schedule
from apps.core.time import Window
from apps.ingest import selectors, services
from apps.ingest.models import Outcome, Reject, Request, Source, TaskName
from apps.ingest.sources.vllm import read_page

WHOLE = Path(__file__).parents[2] / "recordings" / "two-engines"
REQUESTS = 60
LOGGED_SECONDS = 60
"""All of them were logged within so long."""
DAY_SECONDS = 86_400


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first minutes of the recording: 60 attempts, the outcomes of their tasks, a few pages of each engine.

    The last page of granite-small-0 comes 200 s after the first, behind an outage from 45 s on.
    """
    path = tmp_path_factory.mktemp("small")
    with gzip.open(WHOLE / "gateway.ndjson.gz", "rb") as file:
        lines = [next(file) for _ in range(REQUESTS)]
    tasks = {json.loads(line)["metadata"]["requester_metadata"]["task_id"] for line in lines}
    last = json.loads(lines[-1])["endTime"]
    with gzip.open(WHOLE / "outcomes.ndjson.gz", "rb") as file:
        outcomes = [
            line for line in file if json.loads(line)["task_id"] in tasks and json.loads(line)["decided_at"] < last
        ]
    with gzip.open(path / "gateway.ndjson.gz", "wb", 1) as out:
        out.writelines(lines)
    with gzip.open(path / "outcomes.ndjson.gz", "wb", 1) as out:
        out.writelines(outcomes)
    for replica in ("granite-small-0", "granite-large-0"):
        folder = path / "metrics" / replica
        folder.mkdir(parents=True)
        for file_ in sorted((WHOLE / "metrics" / replica).glob("*.gz"))[:4]:
            shutil.copy(file_, folder)
    later = sorted((WHOLE / "metrics" / "granite-small-0").glob("*.gz"))[4]
    shutil.copy(later, path / "metrics" / "granite-small-0" / "1796024168.prom.gz")
    shutil.copy(WHOLE / "catalog.yaml", path)
    return path


def replayed(path: Path, *how: str) -> str:
    out = StringIO()
    call_command("replay", str(path), *how, stdout=out)
    return out.getvalue()


def test_replay_as_recorded_and_again(small: Path, db: None) -> None:
    assert f"{REQUESTS} requests stored, 0 known already, 0 rejected" in replayed(small)
    assert f"0 requests stored, {REQUESTS} known already, 0 rejected" in replayed(small)
    assert Request.objects.count() == REQUESTS
    first = Request.objects.order_by("ended")[0]
    assert first.started == datetime.fromtimestamp(1796023971, UTC) + timedelta(microseconds=264_828)
    hour = Window.hour(first.started)
    assert sum(row.scrapes for row in selectors.engine_minutes(hour)) == 9
    assert Source.objects.filter(recording=False).exclude(kind="vllm").count() == 0
    assert selectors.recording_notice() is not None


def test_replay_moved_to_now(small: Path, db: None) -> None:
    before = datetime.now(UTC)
    replayed(small, "--shift-to-now")
    newest = Request.objects.order_by("-ended")[0].ended
    assert newest is not None
    assert before - timedelta(seconds=200) < newest <= datetime.now(UTC)
    names = TaskName.objects.values_list("task_id", flat=True)
    assert names and all(name.count("-") >= 3 for name in names), "ids are told apart from the recorded ones"
    spent = {r.ended - r.started for r in Request.objects.all() if r.ended}
    replayed(small)
    assert {r.ended - r.started for r in Request.objects.all() if r.ended} == spent, "latencies to the microsecond"
    assert Request.objects.count() == 2 * REQUESTS


def test_replay_in_time_never_comes_from_the_future(small: Path, db: None) -> None:
    said = replayed(small, "--speed", "60")
    assert "100%" in said
    assert f"{REQUESTS} requests stored, 0 known already, 0 rejected" in said
    assert Request.objects.filter(ended__gt=datetime.now(UTC)).count() == 0


@pytest.mark.parametrize("speed", ["0", "-3", "nan", "inf"])
def test_a_speed_that_is_none(small: Path, speed: str) -> None:
    with pytest.raises(CommandError, match="above 0"):
        replayed(small, "--speed", speed)


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither gateway"):
        replayed(tmp_path)


@pytest.fixture
def demo(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> Demo:
    """A demo of one day in place of seven."""
    monkeypatch.setattr(demo_module, "WEEK_SECONDS", DAY_SECONDS)
    monkeypatch.setattr(schedule_module, "WEEK_SECONDS", DAY_SECONDS)
    return Demo(small, tmp_path / "var")


def test_prepare_lays_out_and_again_changes_nothing(demo: Demo) -> None:
    said: list[str] = []
    schedule = prepare(demo, say=said.append)
    copies = [start for start in schedule.starts(int(time.time())) if start + LOGGED_SECONDS < time.time()]
    assert len(copies) >= 2
    stored = Request.objects.count()
    assert stored == REQUESTS * len(copies)
    assert TaskName.objects.count() % len(copies) == 0
    assert Outcome.objects.count() % len(copies) == 0
    assert Source.objects.filter(recording=False).count() == 0
    notice = selectors.recording_notice()
    assert notice is not None
    assert "Recording" in notice
    assert stat.S_IMODE(demo.key_path.stat().st_mode) == 0o600
    now = datetime.now(UTC)
    day = Window(now - timedelta(days=1), now)
    covered = sum(row.covered_seconds for row in selectors.engine_minutes(day, ["granite-large-0"]))
    assert covered == pytest.approx(DAY_SECONDS, abs=120), "idle time is covered too"
    key = demo.key_path.read_text()
    prepare(demo, say=said.append)
    assert Request.objects.count() == stored
    assert demo.key_path.read_text() == key
    state = demo.state()
    assert state is not None
    assert state.anchor == schedule.anchor


def test_prepare_fills_in_what_is_missing(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle and started again: as if it had never been stopped."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - DAY_SECONDS / 2)
    prepare(demo, say=lambda _: None)
    half = Request.objects.count()
    monkeypatch.setattr(time, "time", real)
    schedule = prepare(demo, say=lambda _: None)
    copies = [start for start in schedule.starts(int(real())) if start + LOGGED_SECONDS < real()]
    assert half < Request.objects.count() == REQUESTS * len(copies)


def test_what_live_posts_is_what_prepare_would_have_laid(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source: a record that was posted live is known when the demo fills in after it."""
    schedule = prepare(demo, say=lambda _: None)
    start = schedule.starts(int(time.time()))[-2]
    source = source_of(api_key(demo))
    lines = schedule.requests(start, start + schedule.length)
    answer = services.ingest_requests(source=source, stream=chunked(lines), now=datetime.now(UTC))
    assert (answer.stored, answer.duplicate, answer.rejected) == (0, REQUESTS, 0)


def test_pages_are_served_and_an_engine_that_is_down_hangs_up(small: Path) -> None:
    recording = open_recording(small)
    for ago, up in ((20, True), (100, False), (250, True)):
        server = PagesServer(Schedule(recording, int(time.time()) - ago), port=0)
        server.start()
        address = f"http://127.0.0.1:{server.port}"
        try:
            if up:
                page = requests.get(f"{address}/granite-small-0/metrics", timeout=5)
                assert read_page(page.content).model == "granite-small"
            else:
                with pytest.raises(requests.ConnectionError):
                    requests.get(f"{address}/granite-small-0/metrics", timeout=5)
            assert requests.get(f"{address}/nothing", timeout=5).status_code == 404
        finally:
            server.stop()


@pytest.mark.django_db(transaction=True)
def test_live_goes_on_through_the_api_and_the_scraper(
    small: Path, tmp_path: Path, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due is posted to the running server with the demo's key; pages are scraped; nothing counts twice."""
    monkeypatch.setattr(demo_module, "WEEK_SECONDS", 100)
    monkeypatch.setattr(schedule_module, "WEEK_SECONDS", 100)
    demo = Demo(small, tmp_path / "var")
    schedule = prepare(demo, say=lambda _: None)
    state = demo.state()
    assert state is not None
    laid = Request.objects.count()
    session = requests.Session()
    gateway = Gateway(live_server.url, api_key(demo), session)
    # A later copy, seen from its end.
    later = [start for start in schedule.starts(state.until + 2 * DAY_SECONDS) if start > state.until][0]
    monkeypatch.setattr(Endpoint, "now", lambda self: datetime.fromtimestamp(later + schedule.length + 300, UTC))
    assert post_due(schedule, later, later + schedule.length, gateway) > REQUESTS
    assert Request.objects.count() == laid + REQUESTS
    assert post_due(schedule, later, later + schedule.length, gateway) > REQUESTS
    assert Request.objects.count() == laid + REQUESTS
    assert Reject.objects.count() == 0
    assert Source.objects.filter(recording=False).count() == 0
    assert Source.objects.count() == 2, "one of requests, one of outcomes"
    pages = PagesServer(schedule, port=0)
    pages.start()
    try:
        ensure_targets(schedule, port=pages.port)
        assert services.scrape_targets(clock=lambda: datetime.now(UTC)) == 1, "the other one is in its outage"
    finally:
        pages.stop()


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[str, bytes]], list[int]]]:
    """A server that answers with the statuses it is given, one a post, then 200."""
    seen: list[tuple[str, bytes]] = []
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", seen, statuses
    server.shutdown()
    server.server_close()


def test_a_batch_goes_out_as_one_array_with_the_key(receiver: tuple[str, list[tuple[str, bytes]], list[int]]) -> None:
    address, seen, statuses = receiver
    gateway = Gateway(address, "ifm_key", requests.Session())
    gateway.post("/api/v1/ingest/requests", [b'{"a": 1}', b'{"b": 2}'])
    assert seen == [("Bearer ifm_key", b'[{"a": 1},{"b": 2}]')]
    statuses += [503, 401, 207]
    for status in ("503", "401"):
        with pytest.raises(NotTaken, match=status):
            gateway.post("/x", [b"{}"])
    gateway.post("/x", [b"{}"])
    with pytest.raises(NotTaken, match="does not answer"):
        Gateway("http://127.0.0.1:9", "k", requests.Session()).post("/x", [b"{}"])
