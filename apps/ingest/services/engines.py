"""Scrapes of metrics targets into engine minutes, states and the targets' health."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from django.db import connection, transaction

from apps.core.time import Window, hour_floor
from apps.ingest.arrivals import touch_hours
from apps.ingest.domain.engine_minutes import GAP, Laid, Minute, has_restarted, lay, minute_floor
from apps.ingest.domain.engine_rows import minute_from_row, minute_to_row
from apps.ingest.domain.engine_sample import EngineSample, PageProblem, Scrape, scrape_from_json, scrape_to_json
from apps.ingest.fetch import Page, fetch_pages
from apps.ingest.models import EngineState, Target
from apps.ingest.partitions import ensure_days
from apps.ingest.sources import vllm

ENGINES = {vllm.ENGINE: vllm.read_page}
"""Engine -> the reader of its page."""

MISSING_FOR = 10 * GAP
"""A page that lacks what the former one had is refused as cut, but not for longer than this after a good one."""

_SCRAPE_LOCK = 0x1F_5C4A9E
_MINUTE_COLUMNS = (
    "minute, target_id, model, scrapes, failed_scrapes, covered_seconds, busy_seconds, resets, restarted_at, "
    "first_scrape_at, gauges, counters, histograms"
)
_ON_CONFLICT = """
ON CONFLICT (minute, target_id) DO UPDATE SET model = EXCLUDED.model, scrapes = EXCLUDED.scrapes,
    failed_scrapes = EXCLUDED.failed_scrapes, covered_seconds = EXCLUDED.covered_seconds,
    busy_seconds = EXCLUDED.busy_seconds, resets = EXCLUDED.resets, restarted_at = EXCLUDED.restarted_at,
    first_scrape_at = EXCLUDED.first_scrape_at, gauges = EXCLUDED.gauges, counters = EXCLUDED.counters,
    histograms = EXCLUDED.histograms
"""
_COPY_FROM_ROWS = 200
"""From so many minutes on, a COPY is worth its temporary table."""
_SELECT_MINUTES = """
SELECT minute, model, scrapes, failed_scrapes, covered_seconds, busy_seconds, resets, restarted_at,
    first_scrape_at, gauges, counters, histograms
FROM ingest_engineminute WHERE target_id = %s AND minute >= %s AND minute <= %s
"""


@dataclass(frozen=True, slots=True)
class ScrapeResult:
    """What became of one page: stored, ignored (not newer than the last) or failed, and why."""

    stored: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A page to scrape. `name` is the raw label of the replica, as the catalog's aliases know it."""

    name: str
    url: str
    enabled: bool = True
    timeout_seconds: float = 5.0
    recording: bool = False


def read_page(page: bytes, engine: str = "") -> EngineSample:
    """The sample of a page of a known engine (or of any, while it is not known). Raises PageProblem."""
    readers = [ENGINES[engine]] if engine in ENGINES else list(ENGINES.values())
    for reader in readers[:-1]:
        try:
            return reader(page)
        except PageProblem:
            continue
    return readers[-1](page)


def replace_targets(*, targets: list[TargetSpec]) -> None:
    """Make these the targets that are scraped. Others are disabled, not deleted: their past still needs a name.

    Targets of a recording are left alone.
    """
    with transaction.atomic():
        for spec in targets:
            Target.objects.update_or_create(
                name=spec.name,
                defaults={
                    "url": spec.url,
                    "enabled": spec.enabled,
                    "timeout_seconds": spec.timeout_seconds,
                    "recording": spec.recording,
                },
            )
        others = Target.objects.exclude(name__in=[spec.name for spec in targets])
        others.filter(enabled=True, recording=False).update(enabled=False)


def ensure_target(*, spec: TargetSpec) -> int:
    """Id of the target of this name, made or brought up to date; the other targets stay as they are."""
    target, _ = Target.objects.update_or_create(
        name=spec.name,
        defaults={
            "url": spec.url,
            "enabled": spec.enabled,
            "timeout_seconds": spec.timeout_seconds,
            "recording": spec.recording,
        },
    )
    return int(target.pk)


def store_scrape(*, target_id: int, page: bytes, at: datetime) -> ScrapeResult:
    """Store what a page says. A page that is none marks the target unhealthy with the reason.

    The same page twice, or one older than the last, changes nothing.
    """
    engine = Target.objects.values_list("engine", flat=True).get(pk=target_id)
    try:
        sample = read_page(page, engine)
    except PageProblem as problem:
        store_failed_scrape(target_id=target_id, reason=str(problem), at=at)
        return ScrapeResult(False, str(problem))
    with transaction.atomic():
        target = Target.objects.select_for_update().get(pk=target_id)
        base = scrape_from_json(target.last_sample) if target.last_sample else None
        if missing := _cut(base, sample, at):
            _fail(target, missing, at)
            return ScrapeResult(False, missing)
        stored = _store(target, base, [Scrape(at, sample)], at)
    return ScrapeResult(stored > 0, "" if stored else "not newer than the last scrape")


def store_scrapes(*, target_id: int, scrapes: Iterable[Scrape], now: datetime) -> int:
    """Store many samples of one target, in order of time, in one transaction; the number that were new."""
    with transaction.atomic():
        target = Target.objects.select_for_update().get(pk=target_id)
        base = scrape_from_json(target.last_sample) if target.last_sample else None
        return _store(target, base, list(scrapes), now)


def store_failed_scrape(*, target_id: int, reason: str, at: datetime) -> None:
    """The target did not answer with a page: unhealthy, because."""
    with transaction.atomic():
        _fail(Target.objects.select_for_update().get(pk=target_id), reason, at)


def scrape_targets(*, clock: Callable[[], datetime]) -> int | None:
    """Ask every enabled target for its page, all at the same time; the number of good pages.

    Each page is stored as it arrives, with the time at which it arrived: a slow target delays no other. None when the
    round before is still running.
    """
    if not _try_lock():
        return None
    try:
        targets = list(Target.objects.filter(enabled=True).exclude(url=""))
        good = 0
        for answer in fetch_pages([(t.pk, t.url, t.timeout_seconds) for t in targets], clock=clock):
            if isinstance(answer, Page):
                good += store_scrape(target_id=answer.target_id, page=answer.body, at=answer.at).stored
            else:
                store_failed_scrape(target_id=answer.target_id, reason=answer.reason, at=answer.at)
        return good
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_SCRAPE_LOCK])


def _try_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_SCRAPE_LOCK])
        return bool(cursor.fetchone()[0])


def _cut(base: Scrape | None, sample: EngineSample, at: datetime) -> str:
    """Why the page must have been cut short: the same process had more to say. Empty when it was not."""
    if base is None or not base.at < at <= base.at + MISSING_FOR or has_restarted(base.sample, sample):
        return ""
    missing = sorted(base.sample.names - sample.names)
    return f"half a page: {', '.join(missing[:3])} was there before" if missing else ""


def _store(target: Target, base: Scrape | None, scrapes: list[Scrape], now: datetime) -> int:
    """Fold the scrapes onto the target's minutes and write them; the target's row is locked by the caller."""
    newer = [scrape for scrape in scrapes if base is None or scrape.at > base.at]
    if not newer:
        return 0
    existing = _minutes(target.pk, minute_floor(newer[0].at), minute_floor(newer[-1].at))
    failed = bool(base and target.last_scrape_at and target.last_scrape_at > base.at)
    laid = lay(base, newer, minutes=existing, failed_since_base=failed)
    _write_minutes(target.pk, laid.minutes)
    EngineState.objects.bulk_create(
        [EngineState(target_id=target.pk, what=s.what, started=s.started, ended=s.ended) for s in laid.spans],
        ignore_conflicts=True,
    )
    touch_hours(versions=dict.fromkeys(_touched(laid), (0, 0)), now=now)
    _mark_healthy(target, laid.last)
    return laid.stored


def _mark_healthy(target: Target, last: Scrape | None) -> None:
    assert last is not None
    target.last_sample = scrape_to_json(last)
    target.engine = last.sample.engine
    target.healthy = True
    target.problem = "; ".join(last.sample.notes[:3])
    target.last_ok_at = last.at
    target.last_scrape_at = max(last.at, target.last_scrape_at or last.at)
    target.save(update_fields=["last_sample", "engine", "healthy", "problem", "last_ok_at", "last_scrape_at"])


def _fail(target: Target, reason: str, at: datetime) -> None:
    if target.last_scrape_at is not None and at <= target.last_scrape_at:
        return
    target.healthy = False
    target.problem = reason[:1000]
    target.last_scrape_at = at
    target.save(update_fields=["healthy", "problem", "last_scrape_at"])
    minute = minute_floor(at)
    minutes = _minutes(target.pk, minute, minute)
    minutes.setdefault(minute, Minute()).failed_scrapes += 1
    _write_minutes(target.pk, minutes)
    touch_hours(versions={hour_floor(at): (0, 0)}, now=at)


def _touched(laid: Laid) -> set[datetime]:
    hours = {hour_floor(minute) for minute in laid.minutes}
    for span in laid.spans:
        hours.update(Window(span.started, span.ended).hours())
    return hours


def _minutes(target_id: int, first: datetime, last: datetime) -> dict[datetime, Minute]:
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_MINUTES, [target_id, first, last])
        return {row[0]: minute_from_row(_decoded(row[1:])) for row in cursor.fetchall()}


def _decoded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """JSON columns come as text from a plain cursor."""
    return (*row[:-3], *(msgspec.json.decode(value) if isinstance(value, str) else value for value in row[-3:]))


def _write_minutes(target_id: int, minutes: dict[datetime, Minute]) -> None:
    ensure_days("ingest_engineminute", {minute.date() for minute in minutes})
    rows = [(at, target_id, *_encoded(minute_to_row(minute))) for at, minute in sorted(minutes.items())]
    with connection.cursor() as cursor:
        if len(rows) < _COPY_FROM_ROWS:
            values = ", ".join(["%s"] * len(rows[0]))
            cursor.executemany(
                f"INSERT INTO ingest_engineminute ({_MINUTE_COLUMNS}) VALUES ({values}) {_ON_CONFLICT}", rows
            )
            return
        cursor.execute("CREATE TEMP TABLE minutes (LIKE ingest_engineminute) ON COMMIT DROP")
        with cursor.copy(f"COPY minutes ({_MINUTE_COLUMNS}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            f"INSERT INTO ingest_engineminute ({_MINUTE_COLUMNS}) SELECT {_MINUTE_COLUMNS} FROM minutes {_ON_CONFLICT}"
        )
        cursor.execute("DROP TABLE minutes")


def _encoded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:-3], *(msgspec.json.encode(value).decode() for value in row[-3:]))
