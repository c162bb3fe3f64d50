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
from apps.rollups.domain.decide import TaskPieces, cohorts_of, decisions, task_shares
from apps.rollups.domain.dirty import ripples
from apps.rollups.domain.fold import HourFold, fold
from apps.rollups.domain.replicas import ReplicaFact
from apps.rollups.domain.tasks import TaskParts
from apps.rollups.models import CallLink, FoldedHour, ReplicaHour
from apps.rollups.models import TaskPieces as StoredPieces
from apps.rollups.services import storing
from apps.rollups.services.reading import HourInput, newest_outcomes, parts_of_tasks, read_hour, shared_parts

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
        keys = np.unique(found.attempts.task_key[~found.near])
        elsewhere = parts_of_tasks(keys[keys != NO_KEY], but=hour)
        facts = fold(to_micros(hour), to_micros(now), found.attempts, found.near, found.states, elsewhere)
        changed = _replace(hour, found, facts, elsewhere)
        run_id = uuid4()
        FoldedHour.objects.update_or_create(
            hour=hour,
            defaults={
                "arrival_version": version,
                "catalog_change": change,
                "as_of": now,
                "run_id": run_id,
                "fold_again": False,
                "decide_again": False,
            },
        )
    return Folded(hour, run_id, int(facts.usage.counts["attempts"].sum()), changed)


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
            _decide(hour, pieces, parts_of_tasks(pieces.task_key))
        row.save(update_fields=["run_id", "decide_again"])
    return Folded(hour, row.run_id, 0, frozenset())


def _replace(hour: datetime, found: HourInput, facts: HourFold, elsewhere: TaskParts) -> frozenset[datetime]:
    """Store the facts; answers the other hours that have become stale by it, which are marked so."""
    links = {from_micros(other): checksum for other, checksum in found.links.items()}
    again = _hours_linked_otherwise(hour, links) | _hours_held_otherwise(hour, facts.replicas)
    before = shared_parts(hour)
    storing.clear(hour)
    storing.store_parts(facts.parts)
    storing.store_usage(hour, facts.usage)
    storing.store_replicas(hour, facts.replicas)
    storing.store_links(hour, links)
    storing.store_pieces(hour, facts.pieces)
    _decide(hour, facts.pieces, TaskParts.joined(facts.parts, elsewhere))
    waves = ripples(to_micros(hour), before, facts.parts, elsewhere)
    again |= _moments(waves.fold)
    decide = _moments(waves.decide) - again
    FoldedHour.objects.filter(hour__in=again).exclude(hour=hour).update(fold_again=True)
    FoldedHour.objects.filter(hour__in=decide).update(decide_again=True)
    return frozenset(again | decide)


def _decide(hour: datetime, pieces: TaskPieces, parts: TaskParts) -> None:
    decision, minutes = decisions(pieces.task_key, newest_outcomes(pieces.task_key))
    storing.replace_shares(hour, task_shares(pieces, decision))
    storing.replace_cohorts(hour, cohorts_of(to_micros(hour), pieces, decision, minutes, parts))


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


def _hours_held_otherwise(hour: datetime, facts: list[ReplicaFact]) -> set[datetime]:
    """Hours for which a replica that is held since its first evidence has become held, or no longer is."""
    open_ended = {h.replica_id for h in catalog.replica_holdings() if h.held_from is None}
    elsewhere: dict[int, datetime] = {}
    was: dict[int, datetime] = {}
    rows = ReplicaHour.objects.filter(replica_id__in=open_ended, evidence__isnull=False)
    for id_, evidence, at in rows.values_list("replica_id", "evidence", "hour"):
        into = was if at == hour else elsewhere
        if evidence is not None:
            into[id_] = min(into.get(id_, evidence), evidence)
    is_ = {fact.replica_id: from_micros(fact.evidence_us) for fact in facts if fact.evidence_us is not None}
    changed: set[datetime] = set()
    for id_ in open_ended & (was.keys() | is_.keys()):
        edges = [[known[id_] for known in (mine, elsewhere) if id_ in known] for mine in (was, is_)]
        firsts = [min(moments) for moments in edges if moments]
        if len(firsts) == 2 and firsts[0] == firsts[1]:
            continue
        between = FoldedHour.objects.filter(hour__gte=hour_floor(min(firsts)))
        if len(firsts) == 2:
            between = between.filter(hour__lte=max(firsts))
        changed |= set(between.values_list("hour", flat=True))
    return changed - {hour}


def _moments(hours: Int64) -> set[datetime]:
    return {from_micros(hour) for hour in hours.tolist()}
