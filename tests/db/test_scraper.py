"""The scraper against real servers: good, slow, hanging, dribbling, HTML, half, huge, redirecting and refused pages."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from django.db import connection, connections

from apps.core.time import Window
from apps.ingest import selectors, services, tasks
from apps.ingest.fetch import Failure, FetchProblem, Page, fetch_page, fetch_pages
from apps.ingest.models import ArrivalHour, Target

PAGES = Path(__file__).parents[1] / "data" / "vllm"
GOOD = (PAGES / "specdecode-ngram-after.prom").read_bytes()
LATER = (PAGES / "specdecode-ngram-after-restart.prom").read_bytes()
MIB = 1024 * 1024


class Handler(BaseHTTPRequestHandler):
    stop = Event()

    def do_GET(self) -> None:
        getattr(self, "serve_" + self.path.strip("/").replace("-", "_"))()

    def answer(self, body: bytes, *, length: int | None = None, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def serve_good(self) -> None:
        self.answer(GOOD)

    def serve_zipped(self) -> None:
        self.answer(gzip.compress(GOOD), Content_Encoding="gzip")

    def serve_html(self) -> None:
        self.answer(b"<html><body>Please sign in</body></html>", Content_Type="text/html")

    def serve_half(self) -> None:
        self.answer(GOOD[: len(GOOD) // 2])

    def serve_announced_half(self) -> None:
        self.answer(GOOD[: len(GOOD) // 2], length=len(GOOD))

    def serve_moved(self) -> None:
        self.answer(b"", status=302, Location="http://elsewhere.example/metrics")

    def serve_broken(self) -> None:
        self.answer(b"oh no", status=503)

    def serve_slow(self) -> None:
        self.stop.wait(0.6)
        self.answer(GOOD)

    def serve_hanging(self) -> None:
        self.stop.wait(20)

    def serve_dribbling(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.stop.wait(0.1):
            self.wfile.write(b"#\n")

    def serve_huge(self) -> None:
        """50 MB without saying so first."""
        self.send_response(200)
        self.end_headers()
        for _ in range(50):
            self.wfile.write(b"# a comment like any other, 32 b\n" * (MIB // 33))

    def serve_bomb(self) -> None:
        self.answer(gzip.compress(b"0" * (50 * MIB), 1), Content_Encoding="gzip")

    def serve_said_huge(self) -> None:
        self.answer(b"", length=50 * MIB)

    def serve_closed(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            super().handle()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    Handler.stop.set()
    httpd.shutdown()
    httpd.server_close()
    Handler.stop.clear()


def clock() -> datetime:
    return datetime.now(UTC)


def nobody() -> str:
    """An address at which nothing listens."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/metrics"


@pytest.mark.parametrize("path", ["good", "zipped", "slow"])
def test_a_page_arrives_whole(server: str, path: str) -> None:
    assert fetch_page(f"{server}/{path}", 5) == GOOD


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("announced-half", "half a page"),
        ("moved", "redirects to http://elsewhere.example/metrics"),
        ("broken", "HTTP status 503"),
        ("huge", "larger than 8 MiB"),
        ("said-huge", "larger than 8 MiB"),
        ("bomb", "larger than 8 MiB"),
        ("hanging", "no answer within 0.5 s"),
        ("dribbling", "no whole answer within 0.5 s"),
        ("closed", "the connection broke off"),
    ],
)
def test_no_page_and_why(server: str, path: str, reason: str) -> None:
    began = time.monotonic()
    with pytest.raises(FetchProblem, match=reason):
        fetch_page(f"{server}/{path}", 0.5 if path in ("hanging", "dribbling") else 5)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/hostname", "not an http address"),
        ("http://no-such-host.invalid/metrics", "host name is not known"),
        ("http://[bad", "no readable answer|not an http address|Invalid"),
    ],
)
def test_addresses_that_lead_nowhere(url: str, reason: str) -> None:
    with pytest.raises(FetchProblem, match=reason):
        fetch_page(url, 2)


def test_refused() -> None:
    with pytest.raises(FetchProblem, match="connection refused"):
        fetch_page(nobody(), 2)


def test_answers_come_as_they_are_ready(server: str) -> None:
    """The hanging one is first in line, and last to be told; the good ones do not wait for it."""
    targets = [(1, f"{server}/hanging", 1.0), (2, f"{server}/good", 1.0), (3, f"{server}/good", 1.0)]
    began = time.monotonic()
    seen: list[tuple[int, type, float]] = []
    for answer in fetch_pages(targets, clock=clock):
        seen.append((answer.target_id, type(answer), time.monotonic() - began))
    assert {seen[0][0], seen[1][0]} == {2, 3}
    assert seen[2][:2] == (1, Failure)
    assert seen[1][2] < 0.8
    assert [kind for _, kind, _ in seen[:2]] == [Page, Page]
    assert seen[2][2] < 2.5


def test_a_round_of_scrapes(server: str, db: None) -> None:
    reasons = {
        "good": "",
        "html": "HTML",
        "half": "half a page",
        "hanging": "no answer within 0.5 s",
        "broken": "503",
        "huge": "larger than",
    }
    services.replace_targets(
        targets=[services.TargetSpec(name, f"{server}/{name}", timeout_seconds=0.5) for name in reasons]
        + [services.TargetSpec("refused", nobody()), services.TargetSpec("off", f"{server}/good", enabled=False)]
    )
    assert services.scrape_targets(clock=clock) == 1
    health = {target.name: target for target in selectors.targets()}
    for name, reason in reasons.items():
        assert health[name].healthy is (name == "good"), health[name].problem
        assert reason in health[name].problem
    assert health["refused"].problem == "connection refused"
    assert health["off"].healthy is None
    assert health["good"].engine == "vllm"
    now = clock()
    rows = selectors.engine_minutes(Window(now - timedelta(minutes=3), now + timedelta(minutes=1)))
    assert {row.target: (row.scrapes, row.failed_scrapes) for row in rows} == {
        "good": (1, 0), **{name: (0, 1) for name in [*reasons, "refused"] if name != "good"}
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_round_is_left_out_while_the_one_before_still_runs(server: str) -> None:
    services.ensure_target(spec=services.TargetSpec("slow", f"{server}/slow", timeout_seconds=5))
    results: list[int | None] = []

    def first() -> None:
        results.append(services.scrape_targets(clock=clock))
        connections.close_all()

    thread = Thread(target=first)
    thread.start()
    time.sleep(0.3)
    assert services.scrape_targets(clock=clock) is None
    thread.join()
    assert results == [1]
    assert services.scrape_targets(clock=clock) == 1


def scraped(page: bytes, at: datetime) -> services.ScrapeResult:
    target_id = Target.objects.get(name="t").pk
    return services.store_scrape(target_id=target_id, page=page, at=at)


@pytest.fixture
def target(db: None) -> datetime:
    services.ensure_target(spec=services.TargetSpec("t", ""))
    return datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_page_cut_at_the_end_of_a_line_is_told_by_what_it_lacks(target: datetime) -> None:
    assert scraped(GOOD, target).stored
    cut = GOOD[: GOOD.index(b"# HELP vllm:e2e_request_latency_seconds ")]
    result = scraped(cut, target + timedelta(seconds=15))
    assert not result.stored
    assert "half a page" in result.problem
    assert selectors.targets()[0].healthy is False
    assert scraped(GOOD, target + timedelta(seconds=30)).stored
    assert selectors.targets()[0].problem == ""


def test_an_engine_restarts(target: datetime) -> None:
    scraped(GOOD, target)
    scraped(LATER, target + timedelta(seconds=15))
    (row,) = selectors.engine_minutes(Window.hour(target))
    assert row.resets == 1
    assert row.counters["generation_tokens"] == 716
    assert row.counters["prompt_tokens"] == 2839


def test_every_new_page_makes_its_hour_newer(target: datetime) -> None:
    for seconds in (0, 15, 30):
        scraped(GOOD, target + timedelta(seconds=seconds))
    assert ArrivalHour.objects.get(hour=target).version == 3
    scraped(GOOD, target + timedelta(seconds=30))
    scraped(GOOD, target + timedelta(seconds=15))
    assert ArrivalHour.objects.get(hour=target).version == 3


def test_an_outage_that_lasts_is_down_until_now_and_closed_when_it_ends(target: datetime) -> None:
    scraped(GOOD, target)
    target_id = Target.objects.get(name="t").pk
    for seconds in (15, 30, 45, 60):
        services.store_failed_scrape(target_id=target_id, reason="refused", at=target + timedelta(seconds=seconds))
    hour = Window.hour(target)
    (span,) = selectors.engine_spans(hour)
    assert (span.what, span.started, span.ended, span.open) == ("down", target, target + timedelta(seconds=60), True)
    scraped(GOOD, target + timedelta(seconds=75))
    (span,) = selectors.engine_spans(hour)
    assert (span.what, span.started, span.ended, span.open) == ("down", target, target + timedelta(seconds=75), False)


def test_partitions_are_made_ahead_and_dropped_by_retention(target: datetime) -> None:
    old = target - timedelta(days=40)
    scraped(GOOD, old)
    scraped(GOOD, target)
    dropped = services.maintain_partitions(now=target, request_days=None, engine_days=30)
    assert dropped == [f"ingest_engineminute_{old:%Y%m%d}"]
    assert selectors.engine_minutes(Window.hour(old)) == []
    assert len(selectors.engine_minutes(Window.hour(target))) == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [f"ingest_request_{target + timedelta(days=3):%Y%m%d}"])
        assert cursor.fetchone()[0] is not None
    assert services.maintain_partitions(now=target, request_days=None, engine_days=None) == []


def test_the_timetable_calls_the_services(server: str, target: datetime) -> None:
    services.replace_targets(targets=[services.TargetSpec("t", f"{server}/good")])
    tasks.scrape_targets()
    tasks.maintain_partitions()
    assert selectors.targets()[0].healthy is True
