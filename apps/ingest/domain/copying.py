"""Valid records as rows of PostgreSQL's binary COPY format, built by columns: rows with the same nulls at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.ingest.domain.identity import NO_KEY
from apps.ingest.domain.records import KEYS, Ints, Mask, Records

HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"
_POSTGRES_EPOCH_US = 946_684_800_000_000
_BLOCK_ROWS = 1024
_TIMES = ("started", "ended", "first_token")
_INT4 = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_INT2 = ("http_status", "attempt", "step", "status", "operation", "traffic", "token_source", "finish")
COLUMNS = (
    "started",
    "identity",
    "ended",
    "first_token",
    *KEYS,
    "charge_picos",
    "queue_us",
    "label_id",
    "batch_id",
    *_INT4,
    *_INT2,
    "stream",
)
"""Columns of ingest_request in the order of the rows."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: str
    values: npt.NDArray[Any]
    null: Mask | None

    def sorted_by(self, order: Ints) -> _Column:
        return _Column(self.name, self.kind, self.values[order], None if self.null is None else self.null[order])


def copy_rows(records: Records, label_ids: Ints, batch_id: int) -> Iterator[bytes]:
    """The rows as binary COPY data, header and trailer included, in blocks.

    `label_ids` holds the database id of each of `records.labels`. Rows come grouped by which columns are null: within
    a group every row has the same width, so that a group is one array.
    """
    columns = _columns(records, label_ids, batch_id)
    pattern = np.zeros(len(records), dtype=np.int64)
    for place, column in enumerate(columns):
        if column.null is not None:
            pattern |= column.null.astype(np.int64) << place
    if (pattern != pattern[0]).any():
        order = np.argsort(pattern, kind="stable")
        columns = [column.sorted_by(order) for column in columns]
        pattern = pattern[order]
    edges = np.nonzero(np.diff(pattern))[0] + 1
    yield HEADER
    for start, end in zip([0, *edges.tolist()], [*edges.tolist(), len(pattern)], strict=True):
        if end > start:
            yield from _group(columns, int(pattern[start]), start, end)
    yield TRAILER


def _group(columns: list[_Column], pattern: int, start: int, end: int) -> Iterator[bytes]:
    """Rows with the same nulls: all that is equal in them at once, then the values by column while they are in the
    cache.
    """
    given = [column for place, column in enumerate(columns) if not pattern >> place & 1]
    lengths = {column.name: np.dtype(column.kind).itemsize for column in given}
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for column in columns:
        layout.append((f"{column.name}_length", ">i4"))
        if column.name in lengths:
            layout.append((column.name, column.kind))
    blank = np.zeros(1, dtype=layout)
    blank["fields"] = len(columns)
    for column in columns:
        blank[f"{column.name}_length"] = lengths.get(column.name, -1)
    for at in range(start, end, _BLOCK_ROWS):
        rows = np.repeat(blank, min(_BLOCK_ROWS, end - at))
        for column in given:
            rows[column.name] = column.values[at : at + len(rows)]
        yield rows.tobytes()


def _columns(records: Records, label_ids: Ints, batch_id: int) -> list[_Column]:
    numbers = records.numbers
    by_name: dict[str, _Column] = {
        "identity": _Column("identity", "V16", records.identity, None),
        "label_id": _Column("label_id", ">i4", label_ids[records.label], None),
        "batch_id": _Column("batch_id", ">i4", np.full(len(records), batch_id, dtype=np.int64), None),
        "charge_picos": _Column("charge_picos", ">i8", records.charge_picos, _if_any(records.charge_picos < 0)),
        "queue_us": _number("queue_us", ">i8", numbers["queue_us"]),
        "stream": _number("stream", ">i1", numbers["stream"]),
    }
    for name in _TIMES:
        by_name[name] = _number(name, ">i8", numbers[f"{name}_us"] - _POSTGRES_EPOCH_US)
    for name, keys in records.keys.items():
        by_name[name] = _Column(name, ">i8", keys, _if_any(keys == NO_KEY))
    for name in _INT4:
        by_name[name] = _number(name, ">i4", numbers[name])
    for name in _INT2:
        by_name[name] = _number(name, ">i2", numbers[name])
    return [by_name[name] for name in COLUMNS]


def _number(name: str, kind: str, values: npt.NDArray[np.float64]) -> _Column:
    null = _if_any(np.isnan(values))
    whole = values if null is None else np.where(null, 0, values)
    return _Column(name, kind, whole.astype(np.int64), null)


def _if_any(mask: Mask) -> Mask | None:
    return mask if mask.any() else None
