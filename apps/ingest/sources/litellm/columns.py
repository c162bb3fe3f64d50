"""Decoded payloads by column: labels, numbers, keys and identities of many records at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from apps.core.vocabulary import Status, TokenSource
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
_KEY_ALIAS = 5
"""Its place among the labels of `_few`."""


def _columns(structs: Sequence[Any], kind: type[S], absent: tuple[Any, ...]) -> list[Sequence[Any]]:
    """The fields of nested structs by column; anything that is no such struct counts as empty."""
    try:
        return list(zip(*map(astuple, structs), strict=True))
    except TypeError:
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
    asked |= _from_headers(asked, asked["headers"], who["requester_custom_headers"])
    kinds, distinct = numbered(_few(top, who, asked))
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
    known_by = [numbers["status"]]
    return Readings([calls, ids, top["model_id"]], known_by, keys, label, labels, numbers, charges, frozenset(nameless))


def _few(top: _Named, who: _Named, asked: _Named) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """All that takes few values, to be looked at once for each combination that occurs: (labels, call, outcome)."""
    codes, classes = _columns(top["error_information"], ErrorInformation, _NO_ERROR)
    (endpoints,) = _columns(who["user_api_key_auth_metadata"], KeyMetadata, (None,))
    owners = (who["user_api_key_team_id"], who["user_api_key_team_alias"], asked["team"], endpoints, asked["endpoint"])
    keys = (who["user_api_key_alias"], who["user_api_key_hash"])
    places = (top["model_group"], top["model"], top["api_base"], map(_pod, who["kubernetes_pod_routing"]))
    calls = (top["custom_llm_provider"], top["call_type"], who["internal_call_origin"], who["is_silent_experiment"])
    outcomes = (top["status"], codes, classes, map(_finish, top["response"]), top["stream"])
    return zip(
        zip(*owners, *keys, *places, strict=True),
        zip(*calls, strict=True),
        zip(*outcomes, strict=True),
        strict=True,
    )


def _labels(kinds: Ints, distinct: list[tuple[Any, ...]], charges: Ints) -> tuple[Ints, list[Label]]:
    """Label sets: of each distinct combination without a charge and, behind those, with one."""
    labels: list[Label] = []
    for currency in (None, "USD"):
        for (team, alias, asked_team, endpoint, asked_endpoint, *key, group, model, base, pod), call, _ in distinct:
            owner = (team or alias or asked_team, endpoint or asked_endpoint)
            labels.append((*owner, *key, group or model, model, base, pod, None, call[0], currency))
    return kinds + len(distinct) * (charges >= 0), labels


def _words(kinds: Ints, distinct: list[tuple[Any, ...]]) -> dict[str, Floats]:
    """The small numbers of each record, from those of its distinct combination."""
    table: list[tuple[Any, ...]] = []
    for labels, (_, call_type, origin, silent), (status, code, error_class, finish, stream) in distinct:
        text = "" if code is None else str(code)
        happened = (status_code(status, text, error_class or ""), http_status(text), finish_code(finish), stream)
        table.append((*happened, operation(call_type), traffic(call_type, labels[_KEY_ALIAS], origin, silent)))
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
        if None not in found["task_id"] and all(found["endpoint"]):
            break
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
