"""Single attempts out of the request log, in pages, for whoever looks into one. Nothing is counted or summed here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from apps.core.time import Window
from apps.ingest.models import Outcome


class RequestPlace(NamedTuple):
    """Where an attempt stands in the log; the cursor of a page is the place of its last row."""

    started: datetime
    identity: UUID


@dataclass(frozen=True, slots=True)
class RequestView:
    """One attempt. Small ints are of `core.vocabulary`; None: the source did not say."""

    place: RequestPlace
    ended: datetime | None
    first_token: datetime | None
    call_key: int | None
    task_key: int | None
    task_id: str
    label_id: int
    batch_id: int
    input_tokens: int | None
    cache_read_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    http_status: int | None
    attempt: int | None
    step: int | None
    status: int
    operation: int
    traffic: int
    token_source: int
    finish: int | None
    stream: bool | None
    queue_us: int | None

    @property
    def started(self) -> datetime:
        return self.place.started

    @property
    def e2e_seconds(self) -> float | None:
        return None if self.ended is None else (self.ended - self.started).total_seconds()

    @property
    def ttft_seconds(self) -> float | None:
        """Only where the source says that it streamed: elsewhere the first token is not seen."""
        return (self.first_token - self.started).total_seconds() if self.first_token and self.stream else None


@dataclass(frozen=True, slots=True)
class RequestPage:
    """Newest first; `next_cursor` is None on the last page."""

    rows: list[RequestView]
    next_cursor: RequestPlace | None


_COLUMNS = """
r.started, r.identity, r.ended, r.first_token, r.call_key, r.task_key, coalesce(t.task_id, ''), r.label_id, r.batch_id,
r.input_tokens, r.cache_read_tokens, r.output_tokens, r.reasoning_tokens, r.http_status, r.attempt, r.step, r.status,
r.operation, r.traffic, r.token_source, r.finish, r.stream, r.queue_us
"""
_FROM = "FROM ingest_request r LEFT JOIN ingest_taskname t ON t.task_key = r.task_key"


def requests(
    *,
    window: Window,
    label_ids: Collection[int] | None = None,
    statuses: Collection[int] | None = None,
    with_task: bool = False,
    cursor: RequestPlace | None = None,
    limit: int = 50,
) -> RequestPage:
    """Attempts that started in the window, newest first, after `cursor`; None keeps all labels or statuses."""
    conditions = ["r.started >= %s", "r.started < %s"]
    values: list[Any] = [window.start, window.end]
    if label_ids is not None:
        conditions.append("r.label_id = ANY(%s)")
        values.append(list(label_ids))
    if statuses is not None:
        conditions.append("r.status = ANY(%s)")
        values.append(list(statuses))
    if with_task:
        conditions.append("r.task_key IS NOT NULL")
    if cursor is not None:
        # The first condition repeats the second for the planner, which prunes partitions by it.
        conditions.append("r.started <= %s AND (r.started, r.identity) < (%s, %s)")
        values += [cursor.started, cursor.started, cursor.identity]
    query = (
        f"SELECT {_COLUMNS} {_FROM} WHERE {' AND '.join(conditions)} ORDER BY r.started DESC, r.identity DESC LIMIT %s"
    )
    rows = _rows(query, [*values, limit + 1])
    return RequestPage(rows[:limit], rows[limit - 1].place if len(rows) > limit else None)


def task_requests(*, task_key: int, window: Window, limit: int = 500) -> list[RequestView]:
    """Attempts of one task that started in the window, oldest first."""
    query = f"""
        SELECT {_COLUMNS} {_FROM} WHERE r.started >= %s AND r.started < %s AND r.task_key = %s
        ORDER BY r.started, r.ended, r.identity LIMIT %s
    """
    return _rows(query, [window.start, window.end, task_key, limit])


def _rows(query: str, values: list[Any]) -> list[RequestView]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [RequestView(RequestPlace(row[0], row[1]), *row[2:]) for row in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """One decision on a task."""

    decided_at: datetime
    received_at: datetime
    accepted: bool
    reworked: bool
    score: float | None
    review_minutes: Decimal
    evaluator: str


def task_outcomes(task_key: int) -> list[OutcomeView]:
    """Every decision on the task, the one in force first."""
    rows = Outcome.objects.filter(task_key=task_key).order_by("-decided_at", "-id")
    return [
        OutcomeView(
            row.decided_at, row.received_at, row.accepted, row.reworked, row.score, row.review_minutes, row.evaluator
        )
        for row in rows
    ]
