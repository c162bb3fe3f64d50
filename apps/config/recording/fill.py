"""What a schedule holds between two moments, handed to the same services that live traffic comes through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from time import monotonic

from apps.config.recording.schedule import Schedule
from apps.core.time import to_micros
from apps.ingest import selectors, services

Say = Callable[[str], None]

_LINES_A_CHUNK = 64
SAY_EVERY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Filled:
    stored: int
    duplicate: int
    rejected: int
    outcomes: int
    scrapes: int


def fill(
    schedule: Schedule,
    *,
    source: services.SourceRef,
    targets: dict[str, int],
    since: int,
    until: int,
    say: Say,
) -> Filled:
    """Ingest everything that falls in (since, until]. What is there already is told apart as duplicate, not doubled."""
    now = datetime.fromtimestamp(until, UTC)
    scrapes = 0
    for replica, target_id in targets.items():
        scrapes += services.store_scrapes(
            target_id=target_id,
            scrapes=schedule.scrapes(replica, _scraped_until(replica, since), until),
            now=now,
        )
        say(f"engine metrics of {replica}: {scrapes:,} scrapes so far")
    stored = duplicate = rejected = 0
    lines = _counted(schedule.requests(since, until), say)
    if (first := next(lines, None)) is not None:
        body = chunked(chain([first], lines))
        answer = services.ingest_requests(source=source, stream=body, now=now, answers="rejected")
        stored, duplicate, rejected = answer.stored, answer.duplicate, answer.rejected
    outcomes = b"\n".join(schedule.outcomes(since, until))
    decided = 0
    if outcomes:
        decided = services.ingest_outcomes(source=replace(source, kind="outcomes"), body=outcomes, now=now).stored
    say(f"{stored:,} requests and {decided:,} outcomes stored")
    return Filled(stored, duplicate, rejected, decided, scrapes)


def _scraped_until(replica: str, since: int) -> int:
    """Scrapes go on behind the target's newest one, also where that is later than `since`."""
    newest = {target.name: target.last_ok_at for target in selectors.targets()}.get(replica)
    return since if newest is None else max(since, to_micros(newest) // 1_000_000)


def chunked(lines: Iterable[bytes]) -> Iterator[bytes]:
    """NDJSON in pieces of a few hundred kilobytes."""
    chunk: list[bytes] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == _LINES_A_CHUNK:
            yield b"\n".join(chunk) + b"\n"
            chunk.clear()
    if chunk:
        yield b"\n".join(chunk) + b"\n"


def _counted(lines: Iterable[bytes], say: Say) -> Iterator[bytes]:
    began = told = monotonic()
    for number, line in enumerate(lines, start=1):
        yield line
        if monotonic() - told > SAY_EVERY_SECONDS:
            told = monotonic()
            say(f"{number:,} requests read, {number / (told - began):,.0f} a second")
