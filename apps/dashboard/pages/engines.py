"""Engines: is cache memory or queueing limiting us, and how did replicas spend the time they held their GPUs?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from apps.catalog import selectors as catalog
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.dashboard import charts
from apps.dashboard import format as words
from apps.dashboard.pages.parts import known
from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest
from apps.ingest.selectors import EnginePoint, EngineSpan, TargetRow
from apps.rollups import selectors as rollups
from apps.rollups.domain.facts import ReplicaHourRow

MOST_LINES = 4
NOT_MEASURED = "the engine does not measure it, or was not scraped in this range"


@dataclass(frozen=True, slots=True)
class Engine:
    """One scraped replica: its target, its replica in the catalog (0: none yet), its name and its colour."""

    target: TargetRow
    replica_id: int
    name: str
    colour: str
    dash: str


@dataclass(frozen=True, slots=True)
class HeldPart:
    name: str
    css: str
    length: timedelta
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Held:
    """How a replica spent the time it held its GPUs; parts of `length`, with their places on a bar of 0 to 100."""

    length: timedelta
    parts: list[HeldPart]
    busy: float | Unknown

    @property
    def words(self) -> str:
        return ", ".join(f"{part.name} {words.span(part.length)}" for part in self.parts)


@dataclass(frozen=True, slots=True)
class EngineRow:
    engine: Engine
    held: Held | None
    kv_max: float | Unknown
    running_max: float | Unknown
    waiting_max: float | Unknown
    hit_rate: float | Unknown
    draft_acceptance: float | Unknown
    tokens_a_step: float | Unknown
    preemptions: float | Unknown
    restarts: int


@dataclass(frozen=True, slots=True)
class EnginesPage:
    answer: str
    rows: list[EngineRow]
    chart: charts.Chart | None
    side_charts: list[charts.Chart]
    step: str
    is_empty: bool


def build(state: PageState) -> EnginesPage:
    window = state.period.exact
    engines = _engines(state)
    step = ingest.engine_step(window)
    points = ingest.engine_series(window, step)
    spans = ingest.engine_spans(window)
    held = rollups.replica_hours(state.period.window)
    by_target: dict[int, list[EnginePoint]] = {engine.target.id: [] for engine in engines}
    for point in points:
        by_target.setdefault(point.target_id, []).append(point)
    drawn = _charts(engines, by_target, spans, window, step) if points else []
    rows = [_row(engine, by_target[engine.target.id], spans, held, window) for engine in engines]
    return EnginesPage(
        answer=_answer(rows),
        rows=rows,
        chart=drawn[0] if drawn else None,
        side_charts=drawn[1:],
        step=words.span(step),
        is_empty=not engines,
    )


def _engines(state: PageState) -> list[Engine]:
    """Targets that the replica filter keeps, each with the colour that it has in every chart."""
    resolver = catalog.resolver()
    kept = state.filters.replica
    out = []
    for place, target in enumerate(state.heard.targets):
        replica_id = resolver.resolve("replica", target.name, state.now) or 0
        if kept is not None and replica_id not in kept:
            continue
        name = state.names["replica"][replica_id].name if replica_id else target.name
        colour = charts.SERIES[place] if place < MOST_LINES else charts.OTHER
        out.append(Engine(target, replica_id, name, colour, charts.DASHES[place % len(charts.DASHES)]))
    return out


def _row(
    engine: Engine,
    points: Sequence[EnginePoint],
    spans: Sequence[EngineSpan],
    held: Sequence[ReplicaHourRow],
    window: Window,
) -> EngineRow:
    restarts = {p.restarted_at for p in points if p.restarted_at is not None and window.contains(p.restarted_at)}
    drafts = _sum(p.drafts for p in points)
    accepted = _sum(p.accepted_tokens for p in points)
    a_step = 1 + accepted / drafts if drafts and accepted is not None else Unknown("no drafts in this range")
    return EngineRow(
        engine=engine,
        held=held_of([row for row in held if row.replica_id == engine.replica_id]) if engine.replica_id else None,
        kv_max=_most(p.kv_usage_max for p in points),
        running_max=_most(p.running_max for p in points),
        waiting_max=_most(p.waiting_max for p in points),
        hit_rate=_rate(points, lambda p: p.prefix_hits, lambda p: p.prefix_queries, "no prompts were looked up"),
        draft_acceptance=_rate(points, lambda p: p.accepted_tokens, lambda p: p.draft_tokens, "no drafts proposed"),
        tokens_a_step=a_step,
        preemptions=_known(_sum(p.preemptions for p in points)),
        restarts=len(restarts),
    )


def held_of(rows: Sequence[ReplicaHourRow]) -> Held | None:
    """The replica's hours as one bar; None without a folded hour. Negative idle has no place on the bar."""
    total = sum(row.held_us for row in rows)
    if not total:
        return None
    named = (
        ("busy", "busy", sum(row.busy_us for row in rows)),
        ("idle", "idle", sum(row.idle_us for row in rows)),
        ("loading", "load", sum(row.load_us for row in rows)),
        ("down", "down", sum(row.down_us for row in rows)),
    )
    parts, reached = [], 0.0
    for name, css, micros in named:
        width = max(0.0, micros / total * 100)
        if micros:
            parts.append(HeldPart(name, css, timedelta(microseconds=micros), reached, width))
        reached += width
    return Held(timedelta(microseconds=total), parts, named[0][2] / total)


def _charts(
    engines: Sequence[Engine],
    points: dict[int, list[EnginePoint]],
    spans: Sequence[EngineSpan],
    window: Window,
    step: timedelta,
) -> list[charts.Chart]:
    starts = _starts(points, window, step)
    times = charts.Times(starts, "minute", window, None, step)
    marks = _marks(engines, points, spans, window)

    def series(value: Callable[[EnginePoint], float | None]) -> list[charts.Series]:
        out = []
        for engine in engines:
            found = {p.start: value(p) for p in points.get(engine.target.id, []) if p.scrapes}
            if any(v is not None for v in found.values()):
                out.append(charts.Series(engine.name, [found.get(s) for s in starts], engine.colour, engine.dash, 1.5))
        return out

    percent: dict[str, Any] = {"tickformat": ".0%", "range": [0, 1.08], "hover": "%{y:.1%}"}
    rate: dict[str, Any] = {**percent, "short": True}
    whole: dict[str, Any] = {"hover": "%{y:,.0f}", "short": True}
    full = charts.Limit(1.0, "cache full")
    hits = series(lambda p: _ratio(p.prefix_hits, p.prefix_queries))
    drafts = series(lambda p: _ratio(p.accepted_tokens, p.draft_tokens))
    drawn = [
        charts.lines(
            "kv",
            "KV-cache use, highest",
            times,
            series(lambda p: p.kv_usage_max),
            words.share,
            marks=marks,
            limit=full,
            note=_note(engines, points, spans, window),
            **percent,
        ),
        charts.lines("running", "Requests running, most", times, series(lambda p: p.running_max), _whole, **whole),
        charts.lines("waiting", "Requests waiting, most", times, series(lambda p: p.waiting_max), _whole, **whole),
        charts.lines("prefix", "Prefix-cache hits of tokens looked up", times, hits, words.share, **rate),
        charts.lines(
            "drafts",
            "Draft acceptance of proposed tokens",
            times,
            drafts,
            words.share,
            short=True,
            tickformat=".0%",
            hover="%{y:.1%}",
        ),
        charts.lines("preemptions", "Preemptions", times, series(lambda p: p.preemptions), _whole, **whole),
    ]
    return [chart for chart in drawn if chart.rows]


def _starts(points: dict[int, list[EnginePoint]], window: Window, step: timedelta) -> list[datetime]:
    """Every step from the first to the last that has a point, so that a missing one is drawn as a gap."""
    seen = [p.start for found in points.values() for p in found]
    first, last = min(seen), max(seen)
    return [first + n * step for n in range((last - first) // step + 1)]


def _marks(
    engines: Sequence[Engine], points: dict[int, list[EnginePoint]], spans: Sequence[EngineSpan], window: Window
) -> list[charts.Mark]:
    shown = {engine.target.id: engine for engine in engines}
    marks = []
    for span in spans:
        if span.target_id in shown:
            start, end = max(span.started, window.start), min(span.ended, window.end)
            colour = "@series-2" if span.what == "down" else "@series-3"
            marks.append(charts.Mark(start, colour, end))
    for target_id in shown:
        restarts = {p.restarted_at for p in points.get(target_id, []) if p.restarted_at is not None}
        marks += [charts.Mark(at) for at in restarts if window.contains(at)]
    return sorted(marks, key=lambda mark: mark.start)


def _note(
    engines: Sequence[Engine], points: dict[int, list[EnginePoint]], spans: Sequence[EngineSpan], window: Window
) -> str:
    """What the marks stand for, with who and how often."""
    said = []
    for engine in engines:
        restarts = {p.restarted_at for p in points.get(engine.target.id, []) if p.restarted_at is not None}
        times = sum(1 for at in restarts if window.contains(at))
        outages = [span for span in spans if span.target_id == engine.target.id and span.what == "down"]
        if times:
            said.append(f"{engine.name} restarted {times} ×" if times > 1 else f"{engine.name} restarted once")
        if any(span.open for span in outages):
            said.append(f"{engine.name} does not answer now")
    return f"Dotted: {', '.join(said)}. Shaded: down or loading." if said else ""


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _rate(
    points: Sequence[EnginePoint],
    part: Callable[[EnginePoint], float | None],
    whole: Callable[[EnginePoint], float | None],
    if_none: str,
) -> float | Unknown:
    below = _sum(whole(p) for p in points)
    if below is None:
        return Unknown(NOT_MEASURED)
    above = _sum(part(p) for p in points)
    return (above or 0.0) / below if below else Unknown(if_none)


def _sum(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return sum(found) if found else None


def _most(values: Iterable[float | None]) -> float | Unknown:
    return _known(max((value for value in values if value is not None), default=None))


def _known(value: float | None) -> float | Unknown:
    return Unknown(NOT_MEASURED) if value is None else value


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _answer(rows: Sequence[EngineRow]) -> str:
    """Whether a cache ran full or requests had to wait, and where."""
    full = [row for row in rows if (known(row.kv_max) or 0.0) >= 0.99]
    if full:
        worst = max(full, key=lambda row: known(row.waiting_max) or 0.0)
        sentence = f"The KV cache of {worst.engine.name} was full"
        waiting = known(worst.waiting_max)
        if waiting:
            sentence += f" with up to {waiting:.0f} requests waiting"
        preempted = known(worst.preemptions)
        if preempted:
            sentence += f", and {preempted:,.0f} were preempted"
        return sentence + "."
    if rows and any(known(row.kv_max) is not None for row in rows):
        top = max(rows, key=lambda row: known(row.kv_max) or 0.0)
        return f"No KV cache ran full: {top.engine.name} used most, {words.share(known(top.kv_max) or 0.0)}."
    return ""
