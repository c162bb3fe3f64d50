"""Replaces what is stored of one hour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
from django.db import connection, models

from apps.core.pgcolumns import POSTGRES_EPOCH_US, copy_columns
from apps.core.time import from_micros
from apps.rollups.domain.decide import CohortColumns, ShareColumns, TaskPieces
from apps.rollups.domain.replicas import ReplicaFact
from apps.rollups.domain.tasks import TaskParts
from apps.rollups.domain.usage import DIMENSIONS, Usage
from apps.rollups.models import CallLink, ReplicaHour, TaskCohort, TaskHour, TaskShare, UsageHour
from apps.rollups.models import TaskPieces as StoredPieces

PIECES = ("task_key", "cohort", "cohorts", "piece_task", "piece_group", "units", "dimensions")
_COHORT = ("cohort_hour", "cohort_team_id", "cohort_endpoint_id", "cohort_model_id", "decision")


def clear(hour: datetime) -> None:
    """Remove all that a fold of the hour has stored; what its decisions have stored is replaced with them."""
    for table in (UsageHour, ReplicaHour, TaskHour, CallLink, StoredPieces):
        table._default_manager.filter(hour=hour).delete()


def store_usage(hour: datetime, usage: Usage) -> None:
    columns = [*usage.dimensions.T.tolist(), *(counts.tolist() for counts in usage.counts.values())]
    rows = zip(*columns, *usage.histograms.values(), strict=True)
    _copy(
        UsageHour,
        ["hour", *DIMENSIONS, *usage.counts, *usage.histograms],
        ((hour, *row) for row in rows),
    )


def store_replicas(hour: datetime, facts: Iterable[ReplicaFact]) -> None:
    _copy(
        ReplicaHour,
        [
            "hour", "replica_id", "held_us", "load_us", "busy_us", "idle_us", "down_us", "tier",
            "logged_prompt_tokens", "logged_generation_tokens", "evidence", "scrapes", "covered_seconds", "restarts",
            "counted_prompt_tokens", "counted_generation_tokens", "cached_prompt_tokens", "preemptions",
            "kv_usage_max",
        ],
        ((hour, *_replica(fact)) for fact in facts),
    )  # fmt: skip


def _replica(fact: ReplicaFact) -> tuple[object, ...]:
    engine = fact.engine
    seen = engine and (
        engine.scrapes, engine.covered_seconds, engine.restarts, engine.prompt_tokens, engine.generation_tokens,
        engine.cached_prompt_tokens, engine.preemptions, engine.kv_usage_max,
    )  # fmt: skip
    evidence = None if fact.evidence_us is None else from_micros(fact.evidence_us)
    return (
        fact.replica_id, fact.held_us, fact.load_us, fact.busy_us, fact.idle_us, fact.down_us, int(fact.tier),
        fact.logged_prompt_tokens, fact.logged_generation_tokens, evidence,
        *(seen or (0, 0.0, 0, None, None, None, None, None)),
    )  # fmt: skip


@contextmanager
def parts_aside(parts: TaskParts) -> Iterator[None]:
    """Store what other hours must know of the tasks while the body computes; it must not use the database."""
    with ThreadPoolExecutor(1) as aside:
        stored = aside.submit(_store_parts, connection.connection, parts)
        yield
        stored.result()


def _store_parts(raw: psycopg.Connection[Any], parts: TaskParts) -> None:
    if len(parts) == 0:
        return
    copy_columns(
        raw,
        TaskHour._meta.db_table,
        {
            "task_key": (">i8", parts.task_key),
            "hour": (">i8", parts.hour_us - POSTGRES_EPOCH_US),
            "first_started_us": (">i8", parts.first_started_us),
            "team_id": (">i4", parts.team),
            "endpoint_id": (">i4", parts.endpoint),
            "model_id": (">i4", parts.model),
            "last_attempt": (">i2", parts.last_attempt),
            "escalated": (">i2", parts.escalated),
        },
    )


def store_pieces(hour: datetime, pieces: TaskPieces) -> None:
    if len(pieces.task_key) == 0:
        return
    # A cursor of psycopg's own: Django's would write every byte as two digits into the statement.
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            f"INSERT INTO {StoredPieces._meta.db_table} (hour, {', '.join(PIECES)}) VALUES (%s{', %b' * len(PIECES)})",
            [hour, *(getattr(pieces, name).tobytes() for name in PIECES)],
        )


def store_links(hour: datetime, links: dict[datetime, int]) -> None:
    CallLink.objects.bulk_create(CallLink(hour=hour, other=other, checksum=value) for other, value in links.items())


def replace_shares(hour: datetime, shares: ShareColumns) -> None:
    TaskShare.objects.filter(hour=hour).delete()
    keys, units = shares.keys.tolist(), shares.units.tolist()
    rows = ((hour, *key[:8], from_micros(key[8]), *key[9:], unit) for key, unit in zip(keys, units, strict=True))
    _copy(TaskShare, ["hour", *DIMENSIONS, *_COHORT, "share_units"], rows)


def replace_cohorts(hour: datetime, cohorts: CohortColumns) -> None:
    TaskCohort.objects.filter(cohort_hour=hour).delete()
    columns = (cohorts.tasks.tolist(), cohorts.retried.tolist(), cohorts.escalated.tolist())
    minutes = (Decimal(value).scaleb(-4) for value in cohorts.review_minutes_e4.tolist())
    rows = ((hour, *key, *row) for key, *row in zip(cohorts.keys.tolist(), *columns, minutes, strict=True))
    _copy(
        TaskCohort,
        [
            "cohort_hour", "team_id", "endpoint_id", "model_id", "decision", "tasks", "retried_tasks",
            "escalated_tasks", "review_minutes",
        ],
        rows,
    )  # fmt: skip


def _copy(table: type[models.Model], columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table._meta.db_table} ({', '.join(columns)}) FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)
