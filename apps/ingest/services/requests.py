"""Deliveries of requests: bytes in, durable rows out, an answer for every record."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Literal, TypeVar

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from apps.core.errors import InvalidInput, Problem
from apps.core.time import from_micros, to_micros
from apps.ingest.domain.ahead import read_ahead
from apps.ingest.domain.answers import BatchAnswer, RecordAnswer, Result, SourceRef
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.reading import Chunk, Reader
from apps.ingest.domain.records import Ints, Mask, Records, Rejected, without_repeats
from apps.ingest.domain.splitting import Bytes
from apps.ingest.models import Batch, Source
from apps.ingest.services.deliveries import Progress, count_delivery, keep_rejected, not_read
from apps.ingest.sources.registry import REQUEST_SOURCES, sniffed_kind
from apps.ingest.writer import RETRIED, Writer, ensure_partitions

Answers = Literal["all", "rejected"]
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
    patient: bool = False,
    keep_rejects: bool = True,
) -> BatchAnswer:
    """Store a body of any size, chunk by chunk; each chunk is committed before the next, and answered for.

    Raises InvalidInput for a body that is bad as such, or too wrong for the rest to be read unless `patient`; chunks
    before that stay stored, and are duplicates when the sender tries again. With `answers="rejected"` only (some)
    rejections are listed, so that memory stays flat. `progress` is told the answer so far and the bytes of the chunk.
    """
    kind, blocks = _kind_of(source, [stream] if isinstance(stream, bytes) else stream)
    sizes = sizes or Sizes()
    sizes = sizes.without_end() if patient else sizes
    secret = settings.END_USER_KEY.encode()
    reader = Reader(REQUEST_SOURCES[kind], f"{kind}\0{source.scope}", to_micros(now), secret, sizes)
    chunks = read_ahead(reader.chunks(blocks), lambda chunk: chunk.last)
    delivery = None
    try:
        for chunk in chunks:
            delivery = delivery or _Delivery(_source_id(kind, source), now, answers, keep_rejects)
            delivery.store(chunk)
            if progress:
                progress(delivery.answer(), chunk.bytes)
            if chunk.stopped:
                raise not_read(chunk.stopped, delivery.answer())
    finally:
        chunks.close()
    assert delivery is not None
    return delivery.answer(complete=True)


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
