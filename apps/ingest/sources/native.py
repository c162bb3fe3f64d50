"""Our own record format (docs/ingest.md): flat JSON objects, every field named here, nothing else allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from apps.ingest.domain.strict import PossibleRepeat, count_keys, read_object, refuse_repeats
from apps.ingest.domain.validation import Spoken, control_problem, floats

KIND = "native"
CHECKS_TEXT = True
HEADING = "Our own format"
"""Heading of the format's section in docs/ingest.md."""

Moment = Annotated[datetime, msgspec.Meta(tz=True)] | float | None
Text = str | None
Count = int | None


class Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One attempt. None: not in the JSON, or null; both mean "not known"."""

    started_at: Moment = None
    ended_at: Moment = None
    first_token_at: Moment = None
    id: Text = None
    call_id: Text = None
    trace_id: Text = None
    span_id: Text = None
    parent_id: Text = None
    session_id: Text = None
    task_id: Text = None
    end_user: Text = None
    team: Text = None
    endpoint: Text = None
    key: Text = None
    model: Text = None
    model_served: Text = None
    backend: Text = None
    replica: Text = None
    region: Text = None
    provider: Text = None
    charge_currency: Text = None
    charge_amount: Decimal | None = None
    status: Text = None
    operation: Text = None
    traffic: Text = None
    finish_reason: Text = None
    stream: bool | None = None
    http_status: Count = None
    attempt: Count = None
    step: Count = None
    input_tokens: Count = None
    cached_input_tokens: Count = None
    cache_write_tokens: Count = None
    output_tokens: Count = None
    reasoning_tokens: Count = None
    queue_seconds: float | None = None


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

# The same fields with another default, to tell what was null from what was not there.
_Told = msgspec.defstruct(
    "_Told",
    [(field.name, field.type | UnsetType, UNSET) for field in msgspec.structs.fields(Record)],
    forbid_unknown_fields=True,
    gc=False,
)
_one = msgspec.json.Decoder(Record)
_many = msgspec.json.Decoder(list[Record])
_one_told = msgspec.json.Decoder(_Told)
_many_told = msgspec.json.Decoder(list[_Told])  # type: ignore[valid-type]

Row = tuple[Any, ...]
"""The fields of a Record, in its order: what is handed from decoding to reading by column."""


def read_lines(data: Bytes) -> list[Row]:
    return list(map(astuple, _one.decode_lines(data)))


def read_array(data: bytes) -> list[Row]:
    return list(map(astuple, _many.decode(data)))


def read_one(raw: bytes) -> Row:
    return astuple(read_object(raw, Record))


def readings(rows: list[Row], raw: Bytes | None) -> Readings:
    """The records by column. Raises PossibleRepeat if a field may stand twice in `raw`, the text of the records."""
    columns: dict[str, Sequence[Any]] = dict(zip(FIELDS, zip(*rows, strict=True), strict=True))
    # All that takes few values is looked at once for each combination that occurs.
    kinds, distinct = numbered(zip(*[columns[name] for name in _FEW], strict=True))
    numbers = _numbers(columns)
    if raw is not None:
        few = np.bincount(kinds) @ [len(row) - row.count(None) for row in distinct]
        _refuse_repeats(raw, columns, numbers, int(few))
    numbers |= _words(kinds, distinct, numbers["http_status"])
    missing = np.isnan(numbers["input_tokens"]) & np.isnan(numbers["output_tokens"])
    numbers["token_source"] = np.where(missing, float(TokenSource.MISSING), float(TokenSource.REPORTED))
    charges, faults = _charges(columns["charge_amount"], columns["charge_currency"])
    names = [columns[name] for name in _PARTS]
    if not all(names[0]):
        faults += [i for i, ids in enumerate(zip(*names, strict=True)) if not any(ids)]
    faults += _larger_parts(numbers)
    text = None if raw is None else bytes(raw)
    if text is None or any(mark in text for mark in _CONTROL_MARKS):
        faults += [i for i, row in enumerate(rows) if any(control_problem(row[place]) for place in _TEXTS)]
    labels = [(*row[:3], None, *row[3:_LABELS]) for row in distinct]
    ids = [columns[name] for name in _IDS]
    known_by = [numbers["attempt"], numbers["status"]]
    return Readings(names, known_by, ids, kinds, labels, numbers, charges, frozenset(faults))


def _refuse_repeats(raw: Bytes, columns: dict[str, Sequence[Any]], numbers: dict[str, Floats], few: int) -> None:
    """Compare the keys in the text with the fields that came out of it: `few` of _FEW, and all others."""
    keys, nulls = count_keys(raw)
    if nulls:
        array = bytes(raw[:1]) == b"["
        refuse_repeats(raw, list(map(astuple, _many_told.decode(raw) if array else _one_told.decode_lines(raw))))
        return
    given = few + sum(np.count_nonzero(~np.isnan(column)) for column in numbers.values())
    # An empty text counts as none, which can only make the comparison fail.
    given += sum(len(list(filter(None, columns[name]))) for name in ("id", *_IDS))
    amounts = columns["charge_amount"]
    if keys != given + len(amounts) - amounts.count(None):
        raise PossibleRepeat


_CONTROL_MARKS = (b"\\", b"\x7f", b"\xc2")
"""What a text with a control character holds in JSON, where those below 32 must be escaped."""
_TEXTS = tuple(FIELDS.index(name) for name in dict.fromkeys((*_PARTS, *_IDS, *_FEW[:_LABELS])))


def _larger_parts(numbers: dict[str, Floats]) -> list[int]:
    """Records in which parts of the tokens are more than all of them."""
    cached = np.nan_to_num(numbers["cache_read_tokens"]) + np.nan_to_num(numbers["cache_write_tokens"])
    larger = (cached > numbers["input_tokens"]) | (numbers["reasoning_tokens"] > numbers["output_tokens"])
    return [int(i) for i in np.flatnonzero(larger)]


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
    if not any(getattr(record, name) not in (None, "") for name in _PARTS):
        message = "a record needs an id (or call_id or span_id), so that one sent twice is stored once"
        found.append(Problem("missing", message, "id"))
    for name, known in _WORDS.items():
        word = getattr(record, name)
        if word is None:
            if name == "status":
                found.append(Problem("missing", f"must be one of {', '.join(known)}", name))
        elif word not in known:
            found.append(Problem("unknown_word", f"'{word[:40]}' must be one of {', '.join(known)}", name))
    found += _part_problems(record)
    for place in _TEXTS:
        if wrong := control_problem(row[place]):
            found.append(Problem(wrong[0], wrong[1], FIELDS[place]))
    if isinstance(record.charge_amount, Decimal):
        currency = record.charge_currency
        if not isinstance(currency, str) or not _is_currency(currency):
            message = "a charge needs its currency as three capital letters, such as USD"
            found.append(Problem("missing" if currency is None else "wrong_value", message, "charge_currency"))
    return found


def _part_problems(record: Record) -> Iterator[Problem]:
    cached = (record.cached_input_tokens or 0) + (record.cache_write_tokens or 0)
    if record.input_tokens is not None and cached > record.input_tokens >= 0:
        parts = "cached_input_tokens and cache_write_tokens are parts of input_tokens"
        message = f"{parts}: {cached:,} are more than {record.input_tokens:,}"
        yield Problem("parts_exceed_whole", message, "cached_input_tokens")
    if record.output_tokens is not None and (record.reasoning_tokens or 0) > record.output_tokens >= 0:
        message = (
            f"reasoning_tokens is part of output_tokens: {record.reasoning_tokens:,} are more than "
            f"{record.output_tokens:,}"
        )
        yield Problem("parts_exceed_whole", message, "reasoning_tokens")


def kept_struct(row: Row) -> str:
    """What may be kept of a record that was decoded: it has no bodies."""
    return kept(msgspec.to_builtins(Record(*row)))
