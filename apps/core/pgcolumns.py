"""numpy columns to and from PostgreSQL's binary formats, without a Python object a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

Int64 = npt.NDArray[np.int64]

POSTGRES_EPOCH_US = 946_684_800_000_000
"""2000-01-01 in µs since 1970: PostgreSQL's binary timestamps count from there."""

_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"
_INT8_ARRAY_OID = 1016
_INT8_OID = 20


class Int8Array:
    """A query parameter of type bigint[], from a numpy column."""

    __slots__ = ("values",)

    def __init__(self, values: Int64) -> None:
        self.values = values


class _Int8ArrayDumper(Dumper):
    format = Format.BINARY
    oid = _INT8_ARRAY_OID

    def dump(self, obj: Int8Array) -> Buffer:
        body = np.empty(len(obj.values), dtype=[("length", ">i4"), ("value", ">i8")])
        body["length"] = 8
        body["value"] = obj.values
        dimensions = [1, 0, _INT8_OID, len(obj.values), 1] if len(obj.values) else [0, 0, _INT8_OID]
        return np.array(dimensions, dtype=">i4").tobytes() + body.tobytes()


def fetch_columns(
    connection: psycopg.Connection[Any], query: str, parameters: Mapping[str, object], dtypes: Sequence[str]
) -> list[npt.NDArray[Any]]:
    """The one row of `query`, whose columns are `string_agg(<type>send(x), '')`, as native arrays of shape (n,).

    That aggregate is computed in parallel by the server and arrives as one value a column, where COPY would hand over
    each row by itself. All columns of a query see the rows in the same order. `dtypes` are big-endian (">i8").
    """
    with psycopg.Cursor(connection) as cursor:
        cursor.adapters.register_dumper(Int8Array, _Int8ArrayDumper)
        row = cursor.execute(query, parameters, binary=True).fetchone()
    assert row is not None
    columns = [np.frombuffer(value or b"", dtype=dtype) for value, dtype in zip(row, dtypes, strict=True)]
    return [column.astype(column.dtype.newbyteorder("=")) for column in columns]


def copy_columns(
    connection: psycopg.Connection[Any], table: str, columns: Mapping[str, tuple[str, npt.NDArray[Any]]]
) -> None:
    """Append rows to `table` by binary COPY: column name -> (big-endian dtype, values of shape (n,)), without nulls."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name, (dtype, _) in columns.items():
        fields += [(f"{name}:length", ">i4"), (name, dtype)]
    rows = np.empty(len(next(iter(columns.values()))[1]), dtype=fields)
    rows["fields"] = len(columns)
    for name, (dtype, values) in columns.items():
        rows[f"{name}:length"] = np.dtype(dtype).itemsize
        rows[name] = values
    with (
        psycopg.Cursor(connection) as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)") as copy,
    ):
        copy.write(_COPY_HEADER)
        copy.write(rows.tobytes())
        copy.write(_COPY_END)
