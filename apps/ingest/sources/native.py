"""Our own record format (docs/ingest.md): flat JSON objects, every field named here, nothing else allowed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from apps.core.errors import Problem
from apps.core.vocabulary import Operation, Status, TokenSource, Traffic
from apps.ingest.domain import limits
from apps.ingest.domain.meanings import finish_code, micros, picos_column, status_of_code
from apps.ingest.domain.objects import kept
from apps.ingest.domain.records import Floats, Ints, Readings, numbered
from apps.ingest.domain.splitting import Bytes
from apps.ingest.domain.strict import read_object, refuse_repeats
from apps.ingest.domain.validation import Spoken, floats

KIND = "native"
HEADING = "Our own format"
"""Heading of the format's section in docs/ingest.md."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)] | float | None | UnsetType
Text = str | None | UnsetType
Count = int | None | UnsetType


class Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One attempt. UNSET: not in the JSON; None: null. Both mean "not known"."""

    started_at: Moment = UNSET
    ended_at: Moment = UNSET
    first_token_at: Moment = UNSET
    id: Text = UNSET
    call_id: Text = UNSET
    trace_id: Text = UNSET
    span_id: Text = UNSET
    parent_id: Text = UNSET
    session_id: Text = UNSET
    task_id: Text = UNSET
    end_user: Text = UNSET
    team: Text = UNSET
    endpoint: Text = UNSET
    key: Text = UNSET
    model: Text = UNSET
    model_served: Text = UNSET
    backend: Text = UNSET
    replica: Text = UNSET
    region: Text = UNSET
    provider: Text = UNSET
    charge_currency: Text = UNSET
    charge_amount: Decimal | None | UnsetType = UNSET
    status: Text = UNSET
    operation: Text = UNSET
    traffic: Text = UNSET
    finish_reason: Text = UNSET
    stream: bool | None | UnsetType = UNSET
    http_status: Count = UNSET
    attempt: Count = UNSET
    step: Count = UNSET
    input_tokens: Count = UNSET
    cached_input_tokens: Count = UNSET
    cache_write_tokens: Count = UNSET
    output_tokens: Count = UNSET
    reasoning_tokens: Count = UNSET
    queue_seconds: float | None | UnsetType = UNSET


FIELDS = Record.__struct_fields__
_PARTS = ("id", "call_id", "span_id")
_FEW = (
    *("team", "endpoint", "key", "model", "model_served", "backend", "replica", "region", "provider"),
    *("charge_currency", "status", "operation", "traffic", "finish_reason"),
)
_LABELS = 10
"""So many of _FEW are labels; a hash of the key, which stands between key and model, is not sent."""
_IDS = ("call_id", "trace_id", "span_id", "parent_id", "session_id", "task_id", "end_user")
SPOKEN = Spoken(
    {
        "started_us": "started_at",
        "ended_us": "ended_at",
        "first_token_us": "first_token_at",
        "queue_us": "queue_seconds",
        "cache_read_tokens": "cached_input_tokens",
        "key_alias": "key",
        "model_requested": "model",
        "finish": "finish_reason",
    }
)

_one = msgspec.json.Decoder(Record)
_many = msgspec.json.Decoder(list[Record])


Row = tuple[Any, ...]
"""The fields of a Record, in its order: what is handed from decoding to reading by column."""


def read_lines(data: Bytes) -> list[Row]:
    rows = list(map(astuple, _one.decode_lines(data)))
    refuse_repeats(data, rows)
    return rows


def read_array(data: bytes) -> list[Row]:
    rows = list(map(astuple, _many.decode(data)))
    refuse_repeats(data, rows)
    return rows


def read_one(raw: bytes) -> Row:
    return astuple(read_object(raw, Record))


def readings(rows: list[Row], prefix: str) -> Readings:
    """The records by column."""
    nothing = [None] * len(rows)
    columns = dict(zip(FIELDS, (_with_nulls(column, nothing) for column in zip(*rows, strict=True)), strict=True))
    # All that takes few values is looked at once for each combination that occurs.
    kinds, distinct = numbered(zip(*[columns[name] for name in _FEW], strict=True))
    numbers = _numbers(columns)
    numbers |= _words(kinds, distinct, numbers["http_status"])
    charges, faults = _charges(columns["charge_amount"], columns["charge_currency"])
    ids, calls, spans = (columns[name] for name in _PARTS)
    if not all(ids):
        faults += [i for i, names in enumerate(zip(ids, calls, spans, strict=True)) if not any(names)]
    started = np.nan_to_num(numbers["started_us"]).astype(np.int64).tolist()
    names = [
        f"{prefix}\0{one}\0{call}\0{span}\0{attempt}\0{status}\0{start}"
        for one, call, span, attempt, status, start in zip(
            ids, calls, spans, columns["attempt"], columns["status"], started, strict=True
        )
    ]
    labels = [(*row[:3], None, *row[3:_LABELS]) for row in distinct]
    return Readings(
        names,
        [columns[name] for name in _IDS],
        kinds,
        labels,
        numbers,
        charges,
        frozenset(faults),
    )


def _with_nulls(column: Sequence[Any], nothing: list[None]) -> Sequence[Any]:
    """The column with None for what was not in the JSON."""
    if UNSET not in column:
        return column
    if column[0] is UNSET and column.count(UNSET) == len(column):
        return nothing
    return [None if value is UNSET else value for value in column]


def _words(kinds: Ints, distinct: list[Row], http_status: Floats) -> dict[str, Floats]:
    """The small numbers of each record, from those of its distinct combination."""
    table = [
        (_STATUSES.get(status), _OPERATIONS.get(operation), _TRAFFICS.get(traffic), finish_code(finish))
        for status, operation, traffic, finish in (row[_LABELS:] for row in distinct)
    ]
    status, operation, traffic, finish = (floats(column)[kinds] for column in zip(*table, strict=True))
    return {
        "status": _statuses(status, http_status),
        "operation": operation,
        "traffic": traffic,
        "finish": finish,
    }


def _numbers(columns: dict[str, Sequence[Any]]) -> dict[str, Floats]:
    numbers = {
        "started_us": micros(columns["started_at"]),
        "ended_us": micros(columns["ended_at"]),
        "first_token_us": micros(columns["first_token_at"]),
        "queue_us": np.rint(floats(columns["queue_seconds"]) * limits.SECOND_US),
        "cache_read_tokens": floats(columns["cached_input_tokens"]),
    }
    for name in ("input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"):
        numbers[name] = floats(columns[name])
    for name in ("http_status", "attempt", "step", "stream"):
        numbers[name] = floats(columns[name])
    missing = np.isnan(numbers["input_tokens"]) & np.isnan(numbers["output_tokens"])
    numbers["token_source"] = np.where(missing, float(TokenSource.MISSING), float(TokenSource.REPORTED))
    return numbers


_STATUSES: dict[str | None, int] = {}
_STATUSES.update(Status.words())
_OPERATIONS: dict[str | None, int] = {None: int(Operation.CHAT)}
_OPERATIONS.update(Operation.words())
_TRAFFICS: dict[str | None, int] = {None: int(Traffic.USER)}
_TRAFFICS.update(Traffic.words())


def _statuses(claimed: Floats, http_status: Floats) -> Floats:
    """Where a record says ok and carries an error's code, the error counts."""
    for i in np.nonzero((claimed == Status.OK) & (http_status >= 400))[0].tolist():
        error = status_of_code(int(min(http_status[i], 599)))
        claimed[i] = claimed[i] if error is None else error
    return claimed


def _charges(amounts: Sequence[Any], currencies: Sequence[Any]) -> tuple[Ints, list[int]]:
    """Charges in 10^-12 of the currency (-1: none, -2: not believable), and where amount and currency do not match."""
    if not any(amount is not None for amount in amounts):
        return np.full(len(amounts), -1, dtype=np.int64), []
    faults = [
        i
        for i, (amount, currency) in enumerate(zip(amounts, currencies, strict=True))
        if amount is not None and not _is_currency(currency)
    ]
    return picos_column(amounts), faults


def _is_currency(text: str | None) -> bool:
    return text is not None and len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()


_WORDS = {"status": Status.words(), "operation": Operation.words(), "traffic": Traffic.words()}


def more_problems(row: Row) -> list[Problem]:
    """What is wrong with one record beyond times, counts and texts."""
    record = Record(*row)
    found = []
    if not any(getattr(record, name) not in (UNSET, None, "") for name in _PARTS):
        message = "a record needs an id (or call_id or span_id), so that one sent twice is stored once"
        found.append(Problem("missing", message, "id"))
    for name, known in _WORDS.items():
        word = getattr(record, name)
        if word in (UNSET, None):
            if name == "status":
                found.append(Problem("missing", f"must be one of {', '.join(known)}", name))
        elif word not in known:
            found.append(Problem("unknown_word", f"'{word[:40]}' must be one of {', '.join(known)}", name))
    if isinstance(record.charge_amount, Decimal):
        currency = record.charge_currency
        if not isinstance(currency, str) or not _is_currency(currency):
            message = "a charge needs its currency as three capital letters, such as USD"
            found.append(Problem("missing" if currency in (UNSET, None) else "wrong_value", message, "charge_currency"))
    return found


def kept_struct(row: Row) -> str:
    """What may be kept of a record that was decoded: it has no bodies."""
    return kept(msgspec.to_builtins(Record(*row)))
