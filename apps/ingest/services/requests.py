"""Deliveries of requests: bytes in, durable rows out, an answer for every record."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from queue import Full, Queue
from threading import Event, Thread
from typing import Literal, TypeVar

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Greatest

from apps.core.errors import InvalidInput, Problem
from apps.core.time import from_micros, to_micros
from apps.ingest.domain.answers import BatchAnswer, RecordAnswer, Result, SourceRef
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.reading import Chunk, Reader
from apps.ingest.domain.records import Ints, Mask, Records, Rejected, without_repeats
from apps.ingest.domain.splitting import Bytes
from apps.ingest.models import Batch, Reject, Source
from apps.ingest.sources.registry import REQUEST_SOURCES, sniffed_kind
from apps.ingest.writer import RETRIED, Writer, ensure_partitions

Answers = Literal["all", "rejected"]
Progress = Callable[[BatchAnswer, int], None]
TOLD_REJECTED = 1_000
"""Rejections that are listed when only those are asked for; all are kept in the database."""
ATTEMPTS = 6
_SNIFFED_BYTES = 64 << 10
T = TypeVar("T")
REQUEST_KINDS = tuple(REQUEST_SOURCES)
"""Formats of requests, by the names of their sources."""


def ingest_requests(
    *,
    source: SourceRef,
    stream: Iterable[Bytes] | bytes,
    now: datetime,
    sizes: Sizes | None = None,
    answers: Answers = "all",
    progress: Progress | None = None,
    keep_rejects: bool = True,
) -> BatchAnswer:
    """Store a body of any size, chunk by chunk; each chunk is committed before the next, and answered for.

    Raises InvalidInput for a body that is bad as such; chunks before the bad part stay stored, and are duplicates when
    the sender tries again. With `answers="rejected"` only (some) rejections are listed, so that memory stays flat.
    `progress` is told the answer so far and the bytes of the chunk.
    """
    kind, blocks = _kind_of(source, [stream] if isinstance(stream, bytes) else stream)
    sizes = sizes or _sizes()
    secret = settings.END_USER_KEY.encode()
    reader = Reader(REQUEST_SOURCES[kind], f"{kind}\0{source.scope}", to_micros(now), secret, sizes)
    chunks = _read_ahead(reader.chunks(blocks))
    delivery = None
    try:
        for chunk in chunks:
            delivery = delivery or _Delivery(_source_id(kind, source), now, answers, keep_rejects)
            delivery.store(chunk)
            if progress:
                progress(delivery.answer(), chunk.bytes)
    finally:
        chunks.close()
    assert delivery is not None
    return delivery.answer(complete=True)


def _sizes() -> Sizes:
    return Sizes(record_bytes=getattr(settings, "INGEST_RECORD_LIMIT_BYTES", Sizes().record_bytes))


def _kind_of(source: SourceRef, blocks: Iterable[Bytes]) -> tuple[str, Iterator[Bytes]]:
    if source.kind != "auto":
        if source.kind not in REQUEST_SOURCES:
            known = ", ".join(["auto", *REQUEST_SOURCES])
            raise InvalidInput(Problem("unknown_format", f"format '{source.kind}' is not known: use {known}"))
        return source.kind, iter(blocks)
    blocks = iter(blocks)
    seen: list[Bytes] = []
    head = b""
    for block in blocks:
        seen.append(block)
        head += bytes(block[: _SNIFFED_BYTES - len(head)])
        if len(head) >= _SNIFFED_BYTES:
            break
    return sniffed_kind(head), chain(seen, blocks)


def _source_id(kind: str, source: SourceRef) -> int:
    row, _ = Source.objects.get_or_create(kind=kind, name=source.name[:200], scope=source.scope[:64])
    return int(row.pk)


@dataclass(slots=True)
class _Delivery:
    """One body on its way into the database, and what can be answered so far."""

    source_id: int
    now: datetime
    answers: Answers
    keep_rejects: bool
    batch_id: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    writer: Writer | None = None
    _told: list[tuple[Ints, Mask]] = field(default_factory=list)
    _rejections: list[Rejected] = field(default_factory=list)

    def store(self, chunk: Chunk) -> None:
        """Make the chunk durable, again from its start when another writer got in the way."""
        for attempt in range(ATTEMPTS):
            try:
                if chunk.records is not None:
                    ensure_partitions(chunk.records)
                with transaction.atomic():
                    done = self._store(chunk)
            except DatabaseError as error:
                if not isinstance(error.__cause__, RETRIED) or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(0.02 * 2**attempt)
            else:
                break
        self.batch_id, new, positions, repeated = done
        self.stored += int(new.sum())
        self.duplicate += int((~new).sum()) + len(repeated)
        self.rejected += len(chunk.rejected)
        if self.answers == "all":
            self._told += [(positions, new), (repeated, np.zeros(len(repeated), dtype=np.bool_))]
            self._rejections += chunk.rejected
        else:
            self._rejections += chunk.rejected[: TOLD_REJECTED - len(self._rejections)]

    def _store(self, chunk: Chunk) -> tuple[int, Mask, Ints, Ints]:
        """Inside a transaction: (batch id, which records were new, their positions, positions of repeats)."""
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = on")
        batch_id = self.batch_id or _new_batch(self.source_id, self.now)
        if self.writer is None or self.writer.batch_id != batch_id:
            self.writer = Writer(self.source_id, batch_id)
        new, positions, repeated = np.zeros(0, np.bool_), np.zeros(0, np.int64), np.zeros(0, np.int64)
        if chunk.records is not None:
            records, repeated = without_repeats(chunk.records)
            new, positions = self.writer.write(records, self.now), records.positions
        if self.keep_rejects:
            keep_rejected(self.source_id, batch_id, "request", chunk.rejected, self.now)
        stored, doubled = int(new.sum()), int((~new).sum()) + len(repeated)
        count_delivery(
            self.source_id,
            batch_id,
            now=self.now,
            newest=_newest(chunk.records),
            size=chunk.bytes,
            counts=(stored, doubled, len(chunk.rejected)),
        )
        return batch_id, new, positions, repeated

    def answer(self, *, complete: bool = False) -> BatchAnswer:
        results = self._results() if complete else []
        return BatchAnswer(self.batch_id, self.stored, self.duplicate, self.rejected, results)

    def _results(self) -> list[RecordAnswer]:
        words: dict[bool, Result] = {True: "stored", False: "duplicate"}
        told = [
            RecordAnswer(place, words[new])
            for positions, mask in self._told
            for place, new in zip(positions.tolist(), mask.tolist(), strict=True)
        ]
        told += [RecordAnswer(one.position, "rejected", one.problems) for one in self._rejections]
        return sorted(told, key=lambda answer: answer.record)


def _newest(records: Records | None) -> datetime | None:
    if records is None:
        return None
    latest = np.fmax(records.numbers["started_us"], records.numbers["ended_us"]).max()
    return from_micros(int(latest))


def _new_batch(source_id: int, now: datetime) -> int:
    batch = Batch.objects.create(source_id=source_id, received_at=now, bytes=0, stored=0, duplicate=0, rejected=0)
    return int(batch.pk)


def keep_rejected(source_id: int, batch_id: int, what: str, rejected: list[Rejected], now: datetime) -> None:
    """Keep rejected records, so that they can be seen, fixed and sent again."""
    Reject.objects.bulk_create(
        [
            Reject(
                source_id=source_id,
                batch_id=batch_id,
                position=one.position,
                received_at=now,
                what=what,
                code=one.problems[0].code,
                field=one.problems[0].field[:200],
                message=told(one),
                payload=one.payload,
            )
            for one in rejected
        ],
        batch_size=1_000,
    )


def told(rejected: Rejected) -> str:
    """All problems of a record in words, one a line."""
    lines = [
        f"{problem.field}: {problem.message}" if problem.field else problem.message for problem in rejected.problems
    ]
    return "\n".join(lines).replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def count_delivery(
    source_id: int,
    batch_id: int,
    *,
    now: datetime,
    newest: datetime | None,
    size: int,
    counts: tuple[int, int, int],
) -> None:
    """Add (stored, duplicate, rejected) to the counters of batch and source."""
    stored, duplicate, rejected = counts
    Batch.objects.filter(pk=batch_id).update(
        bytes=F("bytes") + size,
        stored=F("stored") + stored,
        duplicate=F("duplicate") + duplicate,
        rejected=F("rejected") + rejected,
    )
    seen: dict[str, object] = {"last_seen_at": Greatest(Coalesce("last_seen_at", now), now)}
    if newest is not None:
        seen["last_event_at"] = Greatest(Coalesce("last_event_at", newest), newest)
    Source.objects.filter(pk=source_id).update(
        records=F("records") + stored, duplicates=F("duplicates") + duplicate, rejected=F("rejected") + rejected, **seen
    )


class _End:
    """Put behind the last item; carries what ended the reading, if it was not the end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def _read_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The items, where a third and later ones are made by a thread while the caller is busy with those before.

    The thread decodes and never touches the database; a body of one chunk needs none.
    """
    first = list(_take(items, 2))
    yield from first
    if len(first) < 2:
        return
    queue: Queue[T | _End] = Queue(maxsize=1)
    stop = Event()
    thread = Thread(target=_fill, args=(items, queue, stop), name="ingest-reader", daemon=True)
    thread.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stop.set()
        thread.join()


def _take(items: Iterator[T], n: int) -> Iterator[T]:
    for _ in range(n):
        try:
            yield next(items)
        except StopIteration:
            return


def _fill(items: Iterator[T], queue: Queue[T | _End], stop: Event) -> None:
    def put(item: T | _End) -> bool:
        while not stop.is_set():
            try:
                queue.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    try:
        for item in items:
            if not put(item):
                return
        put(_End())
    except BaseException as error:  # noqa: BLE001 - handed to the caller
        put(_End(error))
