"""A recording's directory through the services: as recorded, moved so that it ends now, or played in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from apps.config.recording.fill import Say, chunked
from apps.config.recording.layout import Recording, open_recording
from apps.config.recording.page_text import shifted
from apps.ingest import selectors, services


@dataclass(frozen=True, slots=True)
class Replayed:
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    outcomes: int = 0
    scrapes: int = 0

    def __add__(self, other: Replayed) -> Replayed:
        return Replayed(
            self.stored + other.stored,
            self.duplicate + other.duplicate,
            self.rejected + other.rejected,
            self.outcomes + other.outcomes,
            self.scrapes + other.scrapes,
        )


@dataclass(frozen=True)
class Player:
    """A recording, `shift` seconds later than it was. Shifted ids get a tag, so that they never meet recorded ones."""

    recording: Recording
    source: services.SourceRef
    targets: dict[str, int]
    shift: int

    @property
    def tag(self) -> bytes:
        return b"-%x" % (self.recording.start + self.shift) if self.shift else b""

    def play(self, since: float, until: float) -> Replayed:
        """Everything recorded in (since, until], in the recording's own seconds."""
        now = datetime.now(UTC)
        requests = [r.template.at(self.shift, self.tag) for r in self.recording.requests if since < r.at <= until]
        outcomes = [o.template.at(self.shift, self.tag) for o in self.recording.outcomes if since < o.at <= until]
        result = Replayed(scrapes=sum(self._scrapes(since, until)))
        if requests:
            answer = services.ingest_requests(source=self.source, stream=chunked(requests), now=now, answers="rejected")
            result += Replayed(answer.stored, answer.duplicate, answer.rejected)
        if outcomes:
            decided = replace(self.source, kind="outcomes")
            answer = services.ingest_outcomes(source=decided, body=b"\n".join(outcomes), now=now)
            result += Replayed(outcomes=answer.stored, rejected=answer.rejected)
        return result

    def _scrapes(self, since: float, until: float) -> Iterator[bool]:
        for replica, pages in self.recording.pages.items():
            for at, page in pages:
                if since < at <= until:
                    moment = datetime.fromtimestamp(at + self.shift, UTC)
                    page = shifted(page, self.shift)
                    yield services.store_scrape(target_id=self.targets[replica], page=page, at=moment).stored


def replay(path: Path, *, speed: float | None, shift_to_now: bool, say: Say) -> Replayed:
    """Play the recording in `path`. Raises NoRecording when there is none.

    `speed` plays it in time, so many times as fast, with the times moved so that it ends now and no record ever comes
    from the future; latencies stay as they were.
    """
    recording = open_recording(path)
    duration = recording.end - recording.start
    ends = time.time() + (duration / speed if speed else 0.0)
    shift = int(ends) - recording.end if shift_to_now or speed else 0
    source = services.SourceRef(kind="litellm", name=path.resolve().name, scope="")
    services.mark_recording(kinds=[source.kind, "outcomes"], name=source.name, scope=source.scope)
    player = Player(recording, source, _targets(recording), shift)
    if speed:
        result = _in_time(player, speed, duration, say)
    else:
        result = player.play(float("-inf"), float("inf"))
    return result


def _in_time(player: Player, speed: float, duration: float, say: Say) -> Replayed:
    began = time.monotonic()
    start = player.recording.start
    result, played = Replayed(), float("-inf")
    while played < start + duration:
        until = start + min(duration, (time.monotonic() - began) * speed)
        result += player.play(played, until)
        played = until
        say(f"{(until - start) / duration:.0%}: {result.stored:,} requests, {result.scrapes:,} scrapes")
        time.sleep(min(1.0, max(0.05, (start + duration - played) / speed)))
    return result


def _targets(recording: Recording) -> dict[str, int]:
    """Replica -> target id; a target that is there already keeps its address."""
    known = {target.name: target.id for target in selectors.targets()}
    return {
        replica: known.get(replica)
        or services.ensure_target(spec=services.TargetSpec(name=replica, url="", enabled=False, recording=True))
        for replica in recording.pages
    }
