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
from apps.ingest.domain.strict import read_object, without_repeated_fields
from apps.ingest.domain.validation import Spoken, floats, words

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
_AT = {name: place for place, name in enumerate(FIELDS)}
_PARTS = ("id", "call_id", "span_id")
_LABELS = ("team", "endpoint", "key", None, "model", "model_served", "backend", "replica", "region", "provider")
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


def read_lines(data: Bytes) -> list[Record]:
    data = bytes(data)
    return without_repeated_fields(data, _one.decode_lines(data))


def read_array(data: bytes) -> list[Record]:
    return without_repeated_fields(data, _many.decode(data))


def read_one(raw: bytes) -> Record:
    return read_object(raw, Record)


def readings(records: list[Record], prefix: str) -> Readings:
    """The records by column."""
    columns: list[Sequence[Any]] = [
        column if UNSET not in column else [None if value is UNSET else value for value in column]
        for column in zip(*map(astuple, records), strict=True)
    ]
    numbers = _numbers(columns)
    charges, faults = _charges(columns[_AT["charge_amount"]], columns[_AT["charge_currency"]])
    first, second, third = (columns[_AT[name]] for name in _PARTS)
    nameless = [i for i, ids in enumerate(zip(first, second, third, strict=True)) if not any(ids)]
    names = [
        f"{prefix}\0{one or ''}\0{call or ''}\0{span or ''}\0{attempt or 0}\0{status}\0{started:.0f}"
        for one, call, span, attempt, status, started in zip(
            first, second, third, columns[_AT["attempt"]], columns[_AT["status"]], numbers["started_us"], strict=True
        )
    ]
    empty = [None] * len(records)
    texts = [columns[_AT[name]] if name else empty for name in (*_LABELS, "charge_currency")]
    return Readings(
        names,
        [columns[_AT[name]] for name in _IDS],
        *numbered(zip(*texts, strict=True)),
        numbers,
        charges,
        frozenset((*faults, *nameless)),
    )


def _numbers(columns: list[Sequence[Any]]) -> dict[str, Floats]:
    def at(name: str) -> Sequence[Any]:
        return columns[_AT[name]]

    http_status = floats(at("http_status"))
    numbers = {
        "started_us": micros(at("started_at")),
        "ended_us": micros(at("ended_at")),
        "first_token_us": micros(at("first_token_at")),
        "queue_us": np.rint(floats(at("queue_seconds")) * limits.SECOND_US),
        "input_tokens": floats(at("input_tokens")),
        "cache_read_tokens": floats(at("cached_input_tokens")),
        "cache_write_tokens": floats(at("cache_write_tokens")),
        "output_tokens": floats(at("output_tokens")),
        "reasoning_tokens": floats(at("reasoning_tokens")),
        "http_status": http_status,
        "attempt": floats(at("attempt")),
        "step": floats(at("step")),
        "status": _statuses(words(at("status"), Status.words().get), http_status),
        "operation": words(at("operation"), _OPERATIONS.get),
        "traffic": words(at("traffic"), _TRAFFICS.get),
        "finish": words(at("finish_reason"), finish_code),
        "stream": floats(at("stream")),
    }
    missing = np.isnan(numbers["input_tokens"]) & np.isnan(numbers["output_tokens"])
    numbers["token_source"] = np.where(missing, float(TokenSource.MISSING), float(TokenSource.REPORTED))
    return numbers


_OPERATIONS: dict[str | None, int] = {**Operation.words(), None: int(Operation.CHAT)}
_TRAFFICS: dict[str | None, int] = {**Traffic.words(), None: int(Traffic.USER)}


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
    return bool(text) and len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()  # type: ignore[arg-type]


_WORDS = {"status": Status.words(), "operation": Operation.words(), "traffic": Traffic.words()}


def more_problems(record: Record) -> list[Problem]:
    """What is wrong with one record beyond times, counts and texts."""
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


def kept_struct(record: Record) -> str:
    """What may be kept of a record that was decoded: it has no bodies."""
    return kept(msgspec.to_builtins(record))
