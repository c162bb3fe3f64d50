"""Metrics pages over HTTP: many at the same time, each within its own time and size, and what went wrong in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import requests
import urllib3

PAGE_LIMIT_BYTES = 8 * 1024 * 1024
AT_THE_SAME_TIME = 64
_CHUNK_BYTES = 64 * 1024
_HEADERS = {
    "Accept": "text/plain;version=0.0.4;q=1,*/*;q=0.1",
    "Accept-Encoding": "gzip",
    "User-Agent": "Inferometer",
}


@dataclass(frozen=True, slots=True)
class Page:
    target_id: int
    at: datetime
    body: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    target_id: int
    at: datetime
    reason: str


class FetchProblem(Exception):
    """No page; the message says why, in words fit for a page."""


def fetch_pages(
    targets: Sequence[tuple[int, str, float]], *, clock: Callable[[], datetime]
) -> Iterator[Page | Failure]:
    """Ask all (id, url, time-out in seconds) at the same time and yield each answer as it comes.

    No answer is awaited longer than twice its time-out after it began, whatever the other side does.
    """
    if not targets:
        return
    pool = ThreadPoolExecutor(max_workers=min(len(targets), AT_THE_SAME_TIME), thread_name_prefix="fetch")
    began: dict[int, float] = {}
    futures: dict[Future[Page | Failure], tuple[int, float]] = {
        pool.submit(_answer, target, began, clock): (target[0], target[2]) for target in targets
    }
    try:
        while futures:
            done, _ = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
            for future in done:
                futures.pop(future)
                yield future.result()
            now = monotonic()
            for future, (target_id, timeout) in list(futures.items()):
                if now - began.get(target_id, now) > 2 * timeout and not future.done():
                    futures.pop(future)
                    yield Failure(target_id, clock(), f"no whole answer within {2 * timeout:g} s")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _answer(target: tuple[int, str, float], began: dict[int, float], clock: Callable[[], datetime]) -> Page | Failure:
    target_id, url, timeout = target
    began[target_id] = monotonic()
    try:
        body = fetch_page(url, timeout)
    except FetchProblem as problem:
        return Failure(target_id, clock(), str(problem))
    return Page(target_id, clock(), body)


def fetch_page(url: str, timeout: float, limit_bytes: int = PAGE_LIMIT_BYTES) -> bytes:
    """The body at `url`. Raises FetchProblem: refused, too slow, too large, redirected, any status but 200."""
    if not url.lower().startswith(("http://", "https://")):
        raise FetchProblem(f"not an http address: {url}")
    deadline = monotonic() + timeout
    try:
        with requests.Session() as session:
            session.trust_env = False
            response = session.get(url, headers=_HEADERS, timeout=timeout, stream=True, allow_redirects=False)
            with response:
                _check_status(response)
                return _read(response, deadline, timeout, limit_bytes)
    except (requests.Timeout, urllib3.exceptions.TimeoutError):
        raise FetchProblem(f"no answer within {timeout:g} s") from None
    except (requests.ConnectionError, urllib3.exceptions.ProtocolError) as error:
        raise FetchProblem(_connection_words(error)) from None
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise FetchProblem(f"no readable answer: {type(error).__name__}") from None


def _check_status(response: requests.Response) -> None:
    if response.is_redirect or 300 <= response.status_code < 400:
        where = response.headers.get("Location", "elsewhere")[:200]
        raise FetchProblem(f"redirects to {where}: set that address if it is meant")
    if response.status_code != 200:
        raise FetchProblem(f"HTTP status {response.status_code}")


def _read(response: requests.Response, deadline: float, timeout: float, limit_bytes: int) -> bytes:
    too_large = f"page larger than {limit_bytes / 1024 / 1024:g} MiB"
    if int(response.headers.get("Content-Length") or 0) > limit_bytes:
        raise FetchProblem(too_large)
    chunks: list[bytes] = []
    size = 0
    while True:
        chunk = response.raw.read1(_CHUNK_BYTES, decode_content=True)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
        if size > limit_bytes:
            raise FetchProblem(too_large)
        if monotonic() > deadline:
            raise FetchProblem(f"no whole answer within {timeout:g} s")
    return b"".join(chunks)


def _connection_words(error: Exception) -> str:
    text = str(error)
    if "Connection refused" in text:
        return "connection refused"
    if "Name or service not known" in text or "name resolution" in text or "NameResolution" in text:
        return "the host name is not known"
    if "IncompleteRead" in text:
        return "half a page: the connection ended before the announced length"
    return "the connection broke off"
