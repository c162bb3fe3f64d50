"""Decoded payloads by column: labels, numbers, keys and identities of many records at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from apps.core.vocabulary import Status, TokenSource
from apps.ingest.domain.identity import keys64
from apps.ingest.domain.meanings import finish_code, micros, picos
from apps.ingest.domain.records import Floats, Ints, Label, Readings, numbered
from apps.ingest.domain.splitting import Bytes
from apps.ingest.domain.validation import floats
from apps.ingest.sources.litellm.decode import moment
from apps.ingest.sources.litellm.payload import (
    ErrorInformation,
    Headers,
    InputDetails,
    KeyMetadata,
    Metadata,
    OutputDetails,
    Payload,
    Pod,
    Requester,
    Response,
    Usage,
)
from apps.ingest.sources.litellm.words import counts, http_status, operation, status_code, traffic

S = TypeVar("S", bound=msgspec.Struct)
_Named = dict[str, Sequence[Any]]


def _columns(structs: Sequence[Any], kind: type[S], absent: tuple[Any, ...]) -> list[Sequence[Any]]:
    """The fields of nested structs by column; anything that is no such struct counts as empty."""
    if set(map(type, structs)) == {kind}:
        return list(zip(*map(astuple, structs), strict=True))
    return list(zip(*[astuple(struct) if type(struct) is kind else absent for struct in structs], strict=True))


def _named(structs: Sequence[Any], kind: type[S], absent: tuple[Any, ...]) -> _Named:
    return dict(zip(kind.__struct_fields__, _columns(structs, kind, absent), strict=True))


_NO_METADATA = astuple(Metadata())
_NO_REQUESTER = astuple(Requester())
_NO_HEADERS = astuple(Headers())
_NO_ERROR = astuple(ErrorInformation())
_NO_USAGE = astuple(Usage())
_NO_INPUT_DETAILS = astuple(InputDetails())


_FIELDS = Payload.__struct_fields__


def readings(payloads: list[Payload], raw: Bytes | None) -> Readings:
    """The payloads by column. Of two equal keys the last counts, so that their text is not looked at again."""
    top: _Named = dict(zip(_FIELDS, zip(*map(astuple, payloads), strict=True), strict=True))
    who = _named(top["metadata"], Metadata, _NO_METADATA)
    asked = _named(who["requester_metadata"], Requester, _NO_REQUESTER)
    (endpoints,) = _columns(who["user_api_key_auth_metadata"], KeyMetadata, (None,))
    endpoints = _first(endpoints, asked["endpoint"])
    if None in asked["task_id"] or not all(endpoints):
        asked |= _from_headers(asked, asked["headers"], who["requester_custom_headers"])
        endpoints = _first(endpoints, asked["endpoint"])
    kinds, distinct = numbered(_few(top, who, asked["team"], endpoints))
    charges = _charges(top["response_cost"])
    label, labels = _labels(kinds, distinct, charges)
    numbers = _times(top["startTime"], top["endTime"], top["completionStartTime"]) | _words(kinds, distinct)
    numbers["first_token_us"] = np.where(numbers["stream"] == 1, numbers["first_token_us"], np.nan)
    numbers["attempt"] = counts(asked["attempt"], 1)
    numbers["step"] = counts(asked["step"], 0)
    _add_tokens(numbers, top["prompt_tokens"], top["completion_tokens"], who["usage_object"])
    calls, ids = top["litellm_call_id"], top["id"]
    tasks = asked["task_id"]
    if not set(map(type, tasks)) <= {str, type(None)}:
        tasks = [None if task is None else str(task) for task in tasks]
    people = _first(top["end_user"], who["user_api_key_end_user_id"])
    nothing = [None] * len(payloads)
    keys = [calls, top["trace_id"], ids, nothing, top["session_id"], tasks, people]
    nameless = [] if all(ids) else [i for i, one in enumerate(zip(calls, ids, strict=True)) if not any(one)]
    model_ids = keys64([_Few._make(few).model_id for few in distinct])[kinds]
    return Readings(
        [calls, ids], [numbers["status"], model_ids], keys, label, labels, numbers, charges, frozenset(nameless)
    )


class _Few(NamedTuple):
    """All that takes few values: looked at once for each combination that occurs."""

    team: str | None
    team_alias: str | None
    asked_team: str | None
    endpoint: str | None
    key_alias: str | None
    key_hash: str | None
    group: str | None
    model: str | None
    base: str | None
    pod: str | None
    provider: str | None
    model_id: str | None
    call_type: str | None
    origin: str | None
    silent: bool | None
    status: str | None
    code: str | int | None
    error_class: str | None
    finish: str | None
    stream: bool | None


def _few(top: _Named, who: _Named, teams: Sequence[Any], endpoints: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Each record's fields of _Few."""
    return zip(
        *(who["user_api_key_team_id"], who["user_api_key_team_alias"], teams, endpoints),
        *(who["user_api_key_alias"], who["user_api_key_hash"], top["model_group"], top["model"], top["api_base"]),
        *(map(_pod, who["kubernetes_pod_routing"]), top["custom_llm_provider"], top["model_id"], top["call_type"]),
        *(who["internal_call_origin"], who["is_silent_experiment"], top["status"]),
        *_columns(top["error_information"], ErrorInformation, _NO_ERROR),
        *(map(_finish, top["response"]), top["stream"]),
        strict=True,
    )


def _labels(kinds: Ints, distinct: list[tuple[Any, ...]], charges: Ints) -> tuple[Ints, list[Label]]:
    """Label sets: of each distinct combination without a charge and, behind those, with one."""
    labels: list[Label] = []
    for currency in (None, "USD"):
        for few in map(_Few._make, distinct):
            who = (few.team or few.team_alias or few.asked_team, few.endpoint, few.key_alias, few.key_hash)
            where = (few.group or few.model, few.model, few.base, few.pod, None, few.provider)
            labels.append((*who, *where, currency))
    return kinds + len(distinct) * (charges >= 0), labels


def _words(kinds: Ints, distinct: list[tuple[Any, ...]]) -> dict[str, Floats]:
    """The small numbers of each record, from those of its distinct combination."""
    table: list[tuple[Any, ...]] = []
    for few in map(_Few._make, distinct):
        text = "" if few.code is None else str(few.code)
        happened = (status_code(few.status, text, few.error_class or ""), http_status(text), finish_code(few.finish))
        called = (operation(few.call_type), traffic(few.call_type, few.key_alias, few.origin, few.silent))
        table.append((*happened, few.stream, *called))
    names = ("status", "http_status", "finish", "stream", "operation", "traffic")
    return {name: floats(column)[kinds] for name, column in zip(names, zip(*table, strict=True), strict=True)}


def _first(*columns: Sequence[Any]) -> Sequence[Any]:
    """For each record the first text that is given."""
    best = columns[0]
    for column in columns[1:]:
        if all(best):
            return best
        best = [one or other for one, other in zip(best, column, strict=True)]
    return best


def _from_headers(asked: _Named, *headers: Sequence[Any]) -> _Named:
    """Task id, attempt, step and endpoint, from x- headers where the request's metadata has none."""
    found = {name: asked[name] for name in Headers.__struct_fields__}
    for structs in headers:
        given = _named(structs, Headers, _NO_HEADERS)
        for name, column in given.items():
            if any(column):
                filled = zip(found[name], column, strict=True)
                found[name] = [own if own is not None else other for own, other in filled]
    return found


def _finish(response: Any) -> str | None:
    if type(response) is Response and type(response.choices) is list and response.choices:
        return response.choices[0].finish_reason
    return None


def _pod(pod: Any) -> str | None:
    return pod.pod_ip if type(pod) is Pod else None


def _times(starts: Sequence[Any], ends: Sequence[Any], firsts: Sequence[Any]) -> dict[str, Floats]:
    started, ended, first = (micros(_seconds(column)) for column in (starts, ends, firsts))
    # LiteLLM writes the end where it does not know the first token.
    known = (first != ended) & (first >= started) & ~(first > ended)
    return {
        "started_us": started,
        "ended_us": ended,
        "first_token_us": np.where(known, first, np.nan),
        "queue_us": np.full(len(started), np.nan),
    }


def _seconds(column: Sequence[Any]) -> Sequence[Any]:
    if set(map(type, column)) == {float}:
        return column
    return [moment(value) if isinstance(value, str) else value for value in column]


def _add_tokens(
    numbers: dict[str, Floats], prompt: Sequence[Any], completion: Sequence[Any], usages: Sequence[Any]
) -> None:
    usage = _columns(usages, Usage, _NO_USAGE)
    details = _columns(usage[4], InputDetails, _NO_INPUT_DETAILS)
    (reasoned,) = _columns(usage[5], OutputDetails, (None,))
    reasoning = floats(reasoned)
    in_usage, out_usage = floats(usage[0]), floats(usage[1])
    inputs, outputs = floats(prompt), floats(completion)
    inputs = np.where(np.isnan(inputs), in_usage, inputs)
    outputs = np.where(np.isnan(outputs), out_usage, outputs)
    # Zeros that nobody counted: of a failure always, of a stream when no usage came with it.
    uncounted = (numbers["status"] != Status.OK) | ((numbers["stream"] == 1) & np.isnan(in_usage) & np.isnan(out_usage))
    unknown = uncounted & ~(inputs > 0) & ~(outputs > 0) & ~(inputs < 0) & ~(outputs < 0)
    numbers["input_tokens"] = np.where(unknown, np.nan, inputs)
    numbers["output_tokens"] = np.where(unknown, np.nan, outputs)
    # The homes of one number can disagree (a stream's details stay 0): the largest is right.
    cached = np.fmax(floats(details[0]), floats(usage[2]))
    written = np.fmax(np.fmax(floats(details[1]), floats(details[2])), np.fmax(floats(details[3]), floats(usage[3])))
    numbers["cache_read_tokens"] = np.where(unknown, np.nan, cached)
    numbers["cache_write_tokens"] = np.where(unknown, np.nan, written)
    numbers["reasoning_tokens"] = np.where(unknown, np.nan, reasoning)
    missing = np.isnan(numbers["input_tokens"]) & np.isnan(numbers["output_tokens"])
    numbers["token_source"] = np.where(missing, float(TokenSource.MISSING), float(TokenSource.REPORTED))


def _charges(costs: Sequence[Any]) -> Ints:
    if set(costs) == {0.0}:
        return np.zeros(len(costs), dtype=np.int64)
    return np.array(list(map(_cost, costs)), dtype=np.int64)


@lru_cache(maxsize=16_384)
def _cost(cost: float | None) -> int:
    return -1 if cost is None else picos(Decimal(repr(cost)))
