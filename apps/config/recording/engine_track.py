"""One replica's recorded pages, continued from copy to copy: counters go on, restarts recur, in between all is idle.

A recording holds one or more lives of the process. The last life of a copy goes on as the first life of the next one:
its counters continue where they stood, with the same start of the process.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

from apps.ingest.domain.engine_sample import EngineSample, GaugePoint, HistogramPoint, Scrape

INTERVAL_SECONDS = 15
_BUSY_GAUGES = ("running", "waiting", "kv_usage")


@dataclass(frozen=True, slots=True)
class Life:
    """The process that a moment of a copy shows.

    `created` is when its series began; its counters are ahead of the recorded ones by `ahead` times what a whole copy
    adds to them.
    """

    process_start: float
    created: float
    ahead: int


@dataclass(frozen=True)
class EngineTrack:
    """`moments` are seconds from the start of the recording, `samples` what the pages say there (parallel)."""

    moments: tuple[int, ...]
    samples: tuple[EngineSample, ...]
    recorded_start: int

    @cached_property
    def lives(self) -> int:
        return len({sample.process_start for sample in self.samples})

    def life(self, place: int, copy: int, starts: list[int], first_process_start: float) -> Life:
        """The life at sample `place` of copy number `copy`; `starts` are the beginnings of all copies, by number."""
        own, last = self.samples[place], self.samples[-1]
        if own.process_start != self.samples[0].process_start:
            return _life(own, starts[copy] + (own.process_start or 0.0) - self.recorded_start, 0)
        if self.lives == 1:
            return _life(own, first_process_start, copy)
        if copy == 0:
            return _life(own, first_process_start, 0)
        return _life(last, starts[copy - 1] + (last.process_start or 0.0) - self.recorded_start, 1)

    def sample(self, place: int, copy: int, starts: list[int], first_process_start: float) -> EngineSample:
        """What the engine says at sample `place` of copy number `copy`."""
        life = self.life(place, copy, starts, first_process_start)
        return _moved(self.samples[place], life, self.samples[0], self.samples[-1])

    def scrapes(self, starts: list[int], first_process_start: float, since: int, until: int) -> Iterator[Scrape]:
        """Every scrape in (since, until], also the idle ones between copies, every 15 s."""
        for copy, start in enumerate(starts):
            follows = starts[copy + 1] if copy + 1 < len(starts) else until + 2 * INTERVAL_SECONDS
            if follows + self.moments[-1] < since or start > until:
                continue
            if copy == 0:
                idle = _idle(self.sample(0, 0, starts, first_process_start))
                yield from _repeated(idle, since, start + self.moments[0], until)
            for place, moment in enumerate(self.moments):
                if since < start + moment <= until:
                    sample = self.sample(place, copy, starts, first_process_start)
                    yield Scrape(datetime.fromtimestamp(start + moment, UTC), sample)
            idle = _idle(self.sample(len(self.moments) - 1, copy, starts, first_process_start))
            after = max(start + self.moments[-1], since)
            yield from _repeated(idle, after, follows + self.moments[0], until)

    def place_at(self, seconds: float) -> int | None:
        """The sample that shows `seconds` after the start; None in an outage and before the first one."""
        place = bisect_right(self.moments, seconds) - 1
        if place < 0:
            return None
        late = seconds - self.moments[place]
        if place + 1 < len(self.moments) and self.moments[place + 1] - self.moments[place] > 2 * INTERVAL_SECONDS:
            return place if late < INTERVAL_SECONDS else None
        return place


def _life(recorded: EngineSample, process_start: float, ahead: int) -> Life:
    loading = (recorded.created or 0.0) - (recorded.process_start or 0.0)
    return Life(process_start, process_start + loading, ahead)


def _repeated(sample: EngineSample, after: int, before: int, until: int) -> Iterator[Scrape]:
    """The same every 15 s behind `after`, clear of what comes at `before`, and not past `until`."""
    end = min(before - INTERVAL_SECONDS // 2, until + 1)
    for moment in range(after + INTERVAL_SECONDS, end, INTERVAL_SECONDS):
        yield Scrape(datetime.fromtimestamp(moment, UTC), sample)


def _idle(sample: EngineSample) -> EngineSample:
    gauges = {name: GaugePoint(0.0, 0.0) if name in _BUSY_GAUGES else gauge for name, gauge in sample.gauges.items()}
    return replace(sample, gauges=gauges)


def _moved(sample: EngineSample, life: Life, first: EngineSample, last: EngineSample) -> EngineSample:
    moved = replace(sample, process_start=life.process_start, created=life.created)
    if life.ahead == 0:
        return moved
    return replace(
        moved,
        counters={
            name: _ahead(sample.counters.get(name, {}), first.counters.get(name, {}), series, life.ahead)
            for name, series in last.counters.items()
        },
        histograms={
            name: {
                key: _histogram_ahead(
                    sample.histograms.get(name, {}).get(key), first.histograms.get(name, {}).get(key), point, life.ahead
                )
                for key, point in series.items()
            }
            for name, series in last.histograms.items()
        },
    )


def _ahead(now: dict[str, float], first: dict[str, float], last: dict[str, float], times: int) -> dict[str, float]:
    return {key: now.get(key, 0.0) + times * (value - first.get(key, 0.0)) for key, value in last.items()}


def _histogram_ahead(
    now: HistogramPoint | None, first: HistogramPoint | None, last: HistogramPoint, times: int
) -> HistogramPoint:
    zeros = (0.0,) * len(last.cumulative)
    a = now.cumulative if now else zeros
    b = first.cumulative if first else zeros
    cumulative = tuple([x + times * (z - y) for x, y, z in zip(a, b, last.cumulative, strict=True)])
    ahead = times * (last.sum - (first.sum if first else 0.0))
    return HistogramPoint(last.bounds, cumulative, (now.sum if now else 0.0) + ahead)
