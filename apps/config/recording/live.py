"""The demo going on live: payloads posted to the running server as LiteLLM's callback does, pages served to scrape."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import requests

from apps.config.recording.demo import Demo, api_key, ensure_targets, prepare
from apps.config.recording.fill import Say
from apps.config.recording.pages_server import PagesServer
from apps.config.recording.schedule import Schedule
from apps.config.recording.state import DemoState

BATCH = 512
"""LiteLLM's generic callback sends at most so many payloads at once, and at least every few seconds."""

FLUSH_SECONDS = 5.0
SAY_EVERY_SECONDS = 60.0
_TIMEOUT_SECONDS = 30.0


class NotTaken(RuntimeError):
    """The server did not take a batch; it is sent again later."""


@dataclass(frozen=True)
class Gateway:
    """What posts to the server, with the demo's API key."""

    server: str
    key: str
    session: requests.Session

    def post(self, path: str, payloads: list[bytes]) -> None:
        """One JSON array. Raises NotTaken when it must be sent again; a refused record is the server's to show."""
        try:
            answer = self.session.post(
                self.server + path,
                data=b"[" + b",".join(payloads) + b"]",
                headers={"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"},
                timeout=_TIMEOUT_SECONDS,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise NotTaken(f"{self.server} does not answer ({type(error).__name__})") from None
        if answer.status_code not in (200, 207, 422):
            raise NotTaken(f"{self.server}{path} answers {answer.status_code}: {answer.text[:200]}")


def run_live(demo: Demo, *, server: str, say: Say) -> None:
    """Catch up with now, then go on until the process is stopped; then the engines are asked no more."""
    schedule = prepare(demo, say=say)
    state = demo.state()
    assert state is not None
    pages = PagesServer(schedule, port=state.port)
    pages.start()
    session = requests.Session()
    session.trust_env = False
    try:
        state = replace(state, port=pages.port)
        state.save(demo.state_path)
        say(f"engines' pages at http://127.0.0.1:{pages.port}/<replica>/metrics")
        _go_on(demo, schedule, state, Gateway(server, api_key(demo), session), say)
    finally:
        pages.stop()
        ensure_targets(schedule, port=0)


def _go_on(demo: Demo, schedule: Schedule, state: DemoState, gateway: Gateway, say: Say) -> None:
    complained = ""
    sent, told = 0, float("-inf")
    while True:
        if time.monotonic() - told > SAY_EVERY_SECONDS:
            ensure_targets(schedule, port=state.port)
            if sent:
                say(f"{sent:,} records posted")
            sent, told = 0, time.monotonic()
        until = int(time.time())
        try:
            sent += post_due(schedule, state.until, until, gateway)
        except NotTaken as problem:
            if str(problem) != complained:
                say(f"{problem}; trying again")
            complained = str(problem)
        else:
            complained = ""
            state = replace(state, until=until)
            state.save(demo.state_path)
        time.sleep(FLUSH_SECONDS)


def post_due(schedule: Schedule, since: int, until: int, gateway: Gateway) -> int:
    """Post all that is due in (since, until]. Sent again after a failure, nothing counts twice: the server tells."""
    sent = 0
    for path, lines in (
        ("/api/v1/ingest/requests?format=litellm&results=rejected", schedule.requests(since, until)),
        ("/api/v1/ingest/outcomes?results=rejected", schedule.outcomes(since, until)),
    ):
        for batch in _batches(lines):
            gateway.post(path, batch)
            sent += len(batch)
    return sent


def _batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(lines, BATCH)):
        yield batch
