"""The demo's copies of a recording around one anchor, and what is due of them between two moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from apps.config.recording.engine_track import EngineTrack
from apps.config.recording.layout import Logged, Recording
from apps.config.recording.page_text import PageText
from apps.config.recording.rhythm import WEEK_SECONDS, copy_starts
from apps.ingest.domain.engine_sample import Scrape
from apps.ingest.sources.vllm import read_page

ANCHOR_LEAD_SECONDS = 180
"""The newest copy of a fresh demo began so long ago: it is in full swing when the first page is opened."""

_BEFORE_FIRST_COPY_SECONDS = 3600


@dataclass(frozen=True)
class Schedule:
    """Copies of `recording` from a week before `anchor` on, for ever. All times are whole seconds since 1970."""

    recording: Recording
    anchor: int

    @property
    def origin(self) -> int:
        return self.anchor - WEEK_SECONDS

    @cached_property
    def length(self) -> int:
        return self.recording.end - self.recording.start

    def starts(self, until: int) -> list[int]:
        """Starts of all copies before `until`; a copy's place in the list is its number."""
        return copy_starts(anchor=self.anchor, length=self.length, since=self.origin, until=until)

    def requests(self, since: int, until: int) -> Iterator[bytes]:
        """Payloads that the gateway logs in (since, until], in the order of its copies."""
        return self._due(self.recording.requests, since, until)

    def outcomes(self, since: int, until: int) -> Iterator[bytes]:
        return self._due(self.recording.outcomes, since, until)

    def _due(self, log: list[Logged], since: int, until: int) -> Iterator[bytes]:
        for start in self.starts(until):
            if start + self.length < since:
                continue
            shift = start - self.recording.start
            tag = copy_tag(start)
            for logged in log:
                if since < logged.at + shift <= until:
                    yield logged.template.at(shift, tag)

    @cached_property
    def tracks(self) -> dict[str, EngineTrack]:
        start = self.recording.start
        return {
            replica: EngineTrack(
                moments=tuple(at - start for at, _ in pages),
                samples=tuple(read_page(page) for _, page in pages),
                recorded_start=start,
            )
            for replica, pages in self.recording.pages.items()
        }

    @cached_property
    def _texts(self) -> dict[str, list[PageText]]:
        return {replica: [PageText(page) for _, page in pages] for replica, pages in self.recording.pages.items()}

    @property
    def first_process_start(self) -> float:
        return float(self.origin - _BEFORE_FIRST_COPY_SECONDS)

    def scrapes(self, replica: str, since: int, until: int) -> Iterator[Scrape]:
        """Every scrape of a replica in (since, until], also the idle ones between copies."""
        track = self.tracks[replica]
        return track.scrapes(self.starts(until), self.first_process_start, since, until)

    def page(self, replica: str, now: float) -> bytes | None:
        """What the replica's /metrics shows at `now`; None while it is down."""
        starts = self.starts(int(now) + 1)
        texts, track = self._texts[replica], self.tracks[replica]
        copy = len(starts) - 1
        if copy < 0:
            life = track.life(0, 0, starts, self.first_process_start)
            return texts[0].rewritten(life, texts[0], texts[-1], idle=True)
        seconds = now - starts[copy]
        place = track.place_at(seconds)
        if place is None and seconds >= track.moments[0]:
            return None
        over = place is not None and seconds >= track.moments[-1] + 15
        place = place or 0
        life = track.life(place, copy, starts, self.first_process_start)
        return texts[place].rewritten(life, texts[0], texts[-1], idle=over)


def copy_tag(start: int) -> bytes:
    """What makes the ids of one copy distinct from those of every other."""
    return b"-%x" % start
