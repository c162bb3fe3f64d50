"""Folds one hour and replaces its facts; decides the tasks of one hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

import numpy as np
from django.db import connection, transaction

from apps.catalog import selectors as catalog
from apps.core.time import from_micros, hour_floor, to_micros
from apps.ingest import selectors as ingest
from apps.rollups.domain.attempts import NO_KEY, Int64
from apps.rollups.domain.decide import (
    CohortColumns,
    Outcomes,
    ShareColumns,
    TaskPieces,
    cohorts_of,
    decisions,
    task_shares,
)
from apps.rollups.domain.dirty import ripples
from apps.rollups.domain.fold import Ordered, fold, order
from apps.rollups.domain.replicas import ReplicaFact
from apps.rollups.domain.tasks import TaskParts
from apps.rollups.models import CallLink, FoldedHour
from apps.rollups.models import TaskPieces as StoredPieces
from apps.rollups.services import storing
from apps.rollups.services.reading import Evidence, HourInput, newest_outcomes, parts_elsewhere, parts_here, read_hour

_LOCK = 0x696E66_666F6C64  # "inf fold"


@dataclass(frozen=True, slots=True)
class Folded:
    """`ripples`: other hours that are to be folded or decided again since this one has changed."""

    hour: datetime
    run_id: UUID
    attempts: int
    ripples: frozenset[datetime]


def take_lock() -> None:
    """Held to the end of the transaction: hours that share tasks or calls must see each other's facts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def fold_hour(*, hour: datetime, now: datetime) -> Folded:
    """Replace the facts of the hour that holds `hour` by a fold of what is stored of it, as of `now`.

    The same records, catalog and outcomes give the same rows, except for the run id.
    """
    hour = hour_floor(hour)
    with transaction.atomic():
        take_lock()
        # Versions are read before what they stand for: what moves in between is seen as behind next time.
        version, change = ingest.arrival_version(hour), catalog.latest_change("labels")
        found = read_hour(hour)
        stored = _stored_pieces(hour)
        elsewhere = parts_elsewhere(_keys(found, stored), hour)
        before = parts_here(np.unique(elsewhere.task_key), hour)
        ordered = order(to_micros(hour), found.attempts, found.near, elsewhere)
        changed = _replace(hour, now, found, ordered, before, elsewhere)
        run_id = uuid4()
        FoldedHour.objects.update_or_create(
            hour=hour,
            defaults={
                "arrival_version": version,
                "catalog_change": change,
                "as_of": now,
                "run_id": run_id,
                "fold_id": run_id,
                "fold_again": False,
                "decide_again": False,
            },
        )
    return Folded(hour, run_id, int(ordered.own.sum()), changed)


def decide_hour(*, hour: datetime) -> Folded | None:
    """Replace the cohorts of the hour and its shares by decision, from the pieces that its last fold has stored."""
    with transaction.atomic():
        take_lock()
        row = FoldedHour.objects.filter(hour=hour).first()
        if row is None:
            return None
        row.run_id, row.decide_again = uuid4(), False
        pieces = _stored_pieces(hour)
        if pieces is not None:
            outcomes, keys = newest_outcomes(pieces.task_key), pieces.task_key
            parts = TaskParts.joined(parts_here(keys, hour), parts_elsewhere(keys, hour))
            _store_decided(hour, _decided(hour, pieces, outcomes, parts))
        row.save(update_fields=["run_id", "decide_again"])
    return Folded(hour, row.run_id, 0, frozenset())


def _keys(found: HourInput, stored: TaskPieces | None) -> Int64:
    """Keys of the tasks that are in the hour now, or were when it was folded last."""
    keys = found.attempts.task_key[~found.near]
    keys = np.unique(keys if stored is None else np.concatenate([keys, stored.task_key]))
    named: Int64 = keys[keys != NO_KEY]
    return named


def _replace(
    hour: datetime, now: datetime, found: HourInput, ordered: Ordered, before: TaskParts, elsewhere: TaskParts
) -> frozenset[datetime]:
    """Fold and store the facts; answers the other hours that have become stale by it, which are marked so.

    `before`: what the hour knew of the tasks that it shares with others; `elsewhere`: what the others know.
    """
    links = {from_micros(other): checksum for other, checksum in found.links.items()}
    outcomes = newest_outcomes(ordered.tasks.task_key)
    again = _hours_linked_otherwise(hour, links)
    storing.clear(hour)
    with storing.parts_aside(ordered.parts):
        facts = fold(ordered, to_micros(now), found.states)
        decided = _decided(hour, facts.pieces, outcomes, TaskParts.joined(ordered.parts, elsewhere))
        waves = ripples(to_micros(hour), before, ordered.parts, elsewhere)
    again |= _hours_held_otherwise(hour, found.evidence, facts.replicas) | _moments(waves.fold)
    storing.store_usage(hour, facts.usage)
    storing.store_replicas(hour, facts.replicas)
    storing.store_links(hour, links)
    storing.store_pieces(hour, facts.pieces)
    _store_decided(hour, decided)
    decide = _moments(waves.decide) - again
    FoldedHour.objects.filter(hour__in=again).exclude(hour=hour).update(fold_again=True)
    FoldedHour.objects.filter(hour__in=decide).update(decide_again=True)
    return frozenset(again | decide)


def _decided(
    hour: datetime, pieces: TaskPieces, outcomes: Outcomes, parts: TaskParts
) -> tuple[ShareColumns, CohortColumns]:
    decision, minutes = decisions(pieces.task_key, outcomes)
    return task_shares(pieces, decision), cohorts_of(to_micros(hour), pieces, decision, minutes, parts)


def _store_decided(hour: datetime, decided: tuple[ShareColumns, CohortColumns]) -> None:
    storing.replace_shares(hour, decided[0])
    storing.replace_cohorts(hour, decided[1])


def _stored_pieces(hour: datetime) -> TaskPieces | None:
    row = StoredPieces.objects.filter(hour=hour).first()
    if row is None:
        return None
    wide = {name: np.frombuffer(getattr(row, name), dtype=np.int64) for name in ("task_key", "cohorts", "units")}
    narrow = {
        name: np.frombuffer(getattr(row, name), dtype=np.int32) for name in ("cohort", "piece_task", "piece_group")
    }
    return TaskPieces(
        task_key=wide["task_key"],
        cohort=narrow["cohort"],
        cohorts=wide["cohorts"].reshape(-1, 4),
        piece_task=narrow["piece_task"],
        piece_group=narrow["piece_group"],
        units=wide["units"],
        dimensions=np.frombuffer(row.dimensions, dtype=np.int64).reshape(-1, 8),
    )


def _hours_linked_otherwise(hour: datetime, links: dict[datetime, int]) -> set[datetime]:
    """Hours that were folded seeing other attempts of calls in common with this one than this one sees."""
    theirs = dict(CallLink.objects.filter(other=hour).values_list("hour", "checksum"))
    return {other for other in links.keys() | theirs.keys() if links.get(other) != theirs.get(other)}


def _hours_held_otherwise(hour: datetime, seen: Evidence, facts: list[ReplicaFact]) -> set[datetime]:
    """Hours for which a replica that is held since its first evidence has become held, or no longer is."""
    is_ = {fact.replica_id: from_micros(fact.evidence_us) for fact in facts if fact.evidence_us is not None}
    changed: set[datetime] = set()
    for id_ in seen.open_ended & (seen.here.keys() | is_.keys()):
        firsts = [
            min(known)
            for mine in (seen.here, is_)
            if (known := [at[id_] for at in (mine, seen.elsewhere) if id_ in at])
        ]
        if len(firsts) == 2 and firsts[0] == firsts[1]:
            continue
        between = FoldedHour.objects.filter(hour__gte=hour_floor(min(firsts)))
        if len(firsts) == 2:
            between = between.filter(hour__lte=max(firsts))
        changed |= set(between.values_list("hour", flat=True))
    return changed - {hour}


def _moments(hours: Int64) -> set[datetime]:
    return {from_micros(hour) for hour in hours.tolist()}
