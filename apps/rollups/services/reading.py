"""Reads all that folding one hour needs: attempts of the hour and around it, replicas, tasks elsewhere, outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

import numpy as np
from django.db import connection

from apps.catalog import selectors as catalog
from apps.core.pgcolumns import POSTGRES_EPOCH_US, Int8Array, fetch_columns
from apps.core.query import NONE_GIVEN
from apps.core.time import Window, from_micros, to_micros
from apps.ingest import selectors as ingest
from apps.rollups.domain.attempts import NO_KEY, NO_TIME, Attempts, Bools, Int64, Rows
from apps.rollups.domain.calls import HOUR_US, LINK_GAP_US, linked
from apps.rollups.domain.decide import Outcomes
from apps.rollups.domain.engine import engine_of
from apps.rollups.domain.intervals import spans
from apps.rollups.domain.replicas import ReplicaState
from apps.rollups.domain.tasks import TaskParts
from apps.rollups.services.labels import resolve_columns


@dataclass(frozen=True, slots=True, eq=False)
class HourInput:
    """`near` marks attempts of other hours that only tell the order of calls; `links`: other hour -> checksum."""

    attempts: Attempts
    near: Bools
    links: dict[int, int]
    states: dict[int, ReplicaState]
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Evidence:
    """First evidence of replicas in this hour, as folded last, and in other hours; `open_ended` are held since it."""

    here: dict[int, datetime]
    elsewhere: dict[int, datetime]
    open_ended: frozenset[int]


def read_hour(hour: datetime) -> HourInput:
    start = to_micros(hour)
    touching = ingest.request_columns(Window.hour(hour))
    before = _failed_before(touching, start)
    after = _calls_after(touching, start)
    minutes = ingest.engine_minutes(Window.hour(hour))
    outages = ingest.engine_spans(Window.hour(hour))
    names = {row.target for row in minutes} | {span.target for span in outages}
    attempts, resolver = resolve_columns(_joined([touching, before, after]), names)
    edges = np.cumsum([len(touching), len(before), len(after)])
    place = np.arange(len(attempts))
    attempts, near, links = _with_links(
        attempts, place < edges[0], (place >= edges[0]) & (place < edges[1]), place >= edges[1], start
    )
    targets = {name: resolver.resolve("replica", name, hour) or NONE_GIVEN for name in names}
    holdings = catalog.replica_holdings()
    evidence = _evidence(hour, holdings)
    return HourInput(attempts, near, links, _states(targets, minutes, outages, holdings, evidence), evidence)


def _failed_before(touching: ingest.RequestColumns, start: int) -> ingest.RequestColumns:
    """Failed attempts that ended before the hour, soon enough before what touches it to be of the same call."""
    if not (touching.call_key != NO_KEY).any():
        return touching.take(np.zeros(len(touching), dtype=np.bool_))
    earliest = min(start, int(touching.started_us.min()))
    window = Window(from_micros(earliest - LINK_GAP_US), from_micros(start))
    found = ingest.request_columns(window, failed_calls_only=True)
    return found.take(found.ended_us <= start)


def _calls_after(touching: ingest.RequestColumns, start: int) -> ingest.RequestColumns:
    """Attempts of later hours that may go on from attempts which failed near the end of this one, or after it."""
    end = start + HOUR_US
    closed = np.where(touching.ended_us == NO_TIME, touching.started_us, touching.ended_us)
    failed = (touching.status != 0) & (touching.call_key != NO_KEY) & (touching.started_us >= start)
    late = failed & (closed + LINK_GAP_US >= end)
    if not late.any():
        return touching.take(np.zeros(len(touching), dtype=np.bool_))
    window = Window(from_micros(end), from_micros(int(closed[late].max()) + LINK_GAP_US + 1))
    found = ingest.request_columns(window, np.unique(touching.call_key[late]))
    return found.take(found.started_us >= end)


def _joined(parts: Sequence[ingest.RequestColumns]) -> ingest.RequestColumns:
    filled = [part for part in parts if len(part)] or [parts[0]]
    if len(filled) == 1:
        return filled[0]
    return ingest.RequestColumns(
        *[np.concatenate([getattr(part, field.name) for part in filled]) for field in fields(ingest.RequestColumns)]
    )


def _with_links(
    attempts: Attempts, touching: Bools, before: Bools, after: Bools, start: int
) -> tuple[Attempts, Bools, dict[int, int]]:
    """The attempts, without those of `before` and `after` that go on in none; which of them are near; the links."""
    own = touching & (attempts.started_us >= start)
    earlier, later = np.flatnonzero(before | (touching & ~own)), np.flatnonzero(after)
    here, failed = _of_calls(attempts, touching, earlier), _of_calls(attempts, own & ~attempts.ok, later)
    used, _, from_earlier = linked(attempts.take(earlier), attempts.take(here))
    _, continued, to_later = linked(attempts.take(failed), attempts.take(later))
    near = np.zeros(len(attempts), dtype=np.bool_)
    near[earlier[used]] = True
    near[later[continued]] = True
    near &= ~touching
    kept = near | touching
    links = {pair[0]: checksum for pair, checksum in from_earlier.items() if pair[1] == start}
    links |= {pair[1]: checksum for pair, checksum in to_later.items() if pair[0] == start}
    return (attempts, near, links) if kept.all() else (attempts.take(kept), near[kept], links)


def _of_calls(attempts: Attempts, among: Bools, others: Rows) -> Rows:
    """Rows of `among` whose call is also in `others`."""
    if len(others) == 0:
        return others
    return np.flatnonzero(among & np.isin(attempts.call_key, attempts.call_key[others]))


def _states(
    targets: dict[str, int],
    minutes: Sequence[ingest.EngineMinuteRow],
    outages: Sequence[ingest.EngineSpan],
    holdings: Sequence[catalog.Holding],
    evidence: Evidence,
) -> dict[int, ReplicaState]:
    seen = evidence.elsewhere
    states = {
        holding.replica_id: ReplicaState(
            _micros(holding.held_from), _micros(holding.held_until), _micros(seen.get(holding.replica_id))
        )
        for holding in holdings
    }
    rows: defaultdict[int, list[ingest.EngineMinuteRow]] = defaultdict(list)
    for minute in minutes:
        rows[targets[minute.target]].append(minute)
    away: defaultdict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for span in outages:
        away[targets[span.target], span.what].append((to_micros(span.started), to_micros(span.ended)))
    for replica in sorted((set(rows) | {replica for replica, _ in away}) - {NONE_GIVEN}):
        states[replica] = replace(
            states.get(replica, ReplicaState()),
            down=spans(away[replica, "down"]),
            load=spans(away[replica, "load"]),
            engine=engine_of(rows[replica]) if rows[replica] else None,
        )
    return states


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _evidence(hour: datetime, holdings: Sequence[catalog.Holding]) -> Evidence:
    open_ended = frozenset(holding.replica_id for holding in holdings if holding.held_from is None)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT replica_id, min(evidence) FILTER (WHERE hour = %s), min(evidence) FILTER (WHERE hour <> %s)"
            " FROM rollups_replicahour WHERE evidence IS NOT NULL AND replica_id = ANY(%s) GROUP BY replica_id",
            [hour, hour, list(open_ended)],
        )
        rows = cursor.fetchall()
    return Evidence(
        {row[0]: row[1] for row in rows if row[1] is not None},
        {row[0]: row[2] for row in rows if row[2] is not None},
        open_ended,
    )


_PARTS = """
SELECT string_agg(int8send(t.task_key), ''), string_agg(timestamptz_send(t.hour), ''),
    string_agg(int8send(t.first_started_us), ''), string_agg(int4send(t.team_id), ''),
    string_agg(int4send(t.endpoint_id), ''), string_agg(int4send(t.model_id), ''),
    string_agg(int2send(t.last_attempt), ''), string_agg(int2send(t.escalated), '')
"""
_PARTS_DTYPES = [">i8", ">i8", ">i8", ">i4", ">i4", ">i4", ">i2", ">i2"]


# The hour is hidden from the planner: of an hour that statistics do not know it would expect no row, and then join
# every row with every key. By the size of the table alone it chooses well.
_OF_TASKS = f"""{_PARTS} FROM unnest(%(keys)s) AS wanted (task_key) JOIN rollups_taskhour t USING (task_key)
WHERE (t.hour + interval '0 s' = %(hour)s) = %(here)s"""


def parts_elsewhere(task_keys: Int64, hour: datetime) -> TaskParts:
    """What the other hours know of these tasks."""
    return _parts_of(task_keys, hour, here=False)


def parts_here(task_keys: Int64, hour: datetime) -> TaskParts:
    """What this hour knows of these tasks, as it was folded last."""
    return _parts_of(task_keys, hour, here=True)


def _parts_of(task_keys: Int64, hour: datetime, *, here: bool) -> TaskParts:
    if len(task_keys) == 0:
        return _parts([np.zeros(0, dtype=np.int64)] * len(_PARTS_DTYPES))
    connection.ensure_connection()
    parameters = {"keys": Int8Array(task_keys), "hour": hour, "here": here}
    return _parts(fetch_columns(connection.connection, _OF_TASKS, parameters, _PARTS_DTYPES))


def _parts(columns: Sequence[Int64]) -> TaskParts:
    key, hour, *rest = (column.astype(np.int64) for column in columns)
    return TaskParts(key, hour + POSTGRES_EPOCH_US, *rest)


def newest_outcomes(task_keys: Int64) -> Outcomes:
    found = ingest.newest_outcomes(task_keys)
    return Outcomes(found.task_key, found.accepted, found.reworked, found.review_minutes_e4)
