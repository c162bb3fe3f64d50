"""LiteLLM's StandardLoggingPayload, as its generic callback posts it and its file loggers write it, into records.

Only the fields below are decoded; prompts, answers and everything else is passed over and never built in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from apps.core.errors import Problem
from apps.core.vocabulary import Operation, Status, TokenSource, Traffic
from apps.ingest.domain import limits
from apps.ingest.domain.meanings import finish_code, micros, picos, status_of_code
from apps.ingest.domain.objects import Unreadable, kept, not_finite, parse, salvaged, type_word, without_markers
from apps.ingest.domain.records import Floats, Ints, Label, Readings, numbered
from apps.ingest.domain.splitting import Bytes
from apps.ingest.domain.strict import Refused
from apps.ingest.domain.validation import Spoken, floats

KIND = "litellm"
HEADING = "LiteLLM"
"""Heading of the format's section in docs/ingest.md."""

Text = str | None
Number = int | None
# Nested objects may come as a text: the serialiser's marker for what it could not write.


class Headers(msgspec.Struct, gc=False):
    task_id: Text = msgspec.field(name="x-task-id", default=None)
    attempt: Text = msgspec.field(name="x-attempt", default=None)
    step: Text = msgspec.field(name="x-step", default=None)
    endpoint: Text = msgspec.field(name="x-endpoint", default=None)


class Requester(msgspec.Struct, gc=False):
    task_id: str | int | None = None
    attempt: str | int | float | None = None
    step: str | int | float | None = None
    endpoint: Text = None
    team: Text = None
    headers: Headers | str | None = None


class InputDetails(msgspec.Struct, gc=False):
    cached_tokens: Number = None
    cache_creation_tokens: Number = None
    cache_write_tokens: Number = None
    created_cache_tokens: Number = None


class OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Number = None


class Usage(msgspec.Struct, gc=False):
    prompt_tokens: Number = None
    completion_tokens: Number = None
    cache_read_input_tokens: Number = None
    cache_creation_input_tokens: Number = None
    prompt_tokens_details: InputDetails | str | None = None
    completion_tokens_details: OutputDetails | str | None = None


class KeyMetadata(msgspec.Struct, gc=False):
    endpoint: Text = None


class Pod(msgspec.Struct, gc=False):
    pod_ip: Text = None


class Metadata(msgspec.Struct, gc=False):
    user_api_key_hash: Text = None
    user_api_key_alias: Text = None
    user_api_key_team_id: Text = None
    user_api_key_team_alias: Text = None
    user_api_key_end_user_id: Text = None
    internal_call_origin: Text = None
    is_silent_experiment: bool | None = None
    requester_metadata: Requester | str | None = None
    requester_custom_headers: Headers | str | None = None
    usage_object: Usage | str | None = None
    user_api_key_auth_metadata: KeyMetadata | str | None = None
    kubernetes_pod_routing: Pod | str | None = None


class ErrorInformation(msgspec.Struct, gc=False):
    error_code: str | int | None = None
    error_class: Text = None


class Choice(msgspec.Struct, gc=False):
    finish_reason: Text = None


class Response(msgspec.Struct, gc=False):
    choices: list[Choice] | str | None = None


class Payload(msgspec.Struct, gc=False):
    startTime: float | str | None = None  # noqa: N815
    endTime: float | str | None = None  # noqa: N815
    completionStartTime: float | str | None = None  # noqa: N815
    id: Text = None
    litellm_call_id: Text = None
    trace_id: Text = None
    session_id: Text = None
    call_type: Text = None
    stream: bool | None = None
    status: Text = None
    custom_llm_provider: Text = None
    model: Text = None
    model_group: Text = None
    model_id: Text = None
    api_base: Text = None
    prompt_tokens: Number = None
    completion_tokens: Number = None
    response_cost: float | None = None
    end_user: Text = None
    error_information: ErrorInformation | str | None = None
    metadata: Metadata | str | None = None
    response: Response | str | None = None


SPOKEN = Spoken(
    {
        "started_us": "startTime",
        "ended_us": "endTime",
        "first_token_us": "completionStartTime",
        "input_tokens": "prompt_tokens",
        "output_tokens": "completion_tokens",
        "cache_read_tokens": "metadata.usage_object.prompt_tokens_details.cached_tokens",
        "cache_write_tokens": "metadata.usage_object.cache_creation_input_tokens",
        "reasoning_tokens": "metadata.usage_object.completion_tokens_details.reasoning_tokens",
        "call_id": "litellm_call_id",
        "span_id": "id",
        "task_id": "metadata.requester_metadata.task_id",
        "team": "metadata.user_api_key_team_id",
        "endpoint": "metadata.user_api_key_auth_metadata.endpoint",
        "key_alias": "metadata.user_api_key_alias",
        "key_hash": "metadata.user_api_key_hash",
        "model_requested": "model_group",
        "model_served": "model",
        "backend": "api_base",
        "replica": "metadata.kubernetes_pod_routing.pod_ip",
        "provider": "custom_llm_provider",
        "charge_amount": "response_cost",
    }
)

_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(Payload)}
_one = msgspec.json.Decoder(Payload | None)
_many = msgspec.json.Decoder(list[Payload | None])


def read_lines(data: Bytes) -> list[Payload | None]:
    return _one.decode_lines(data)


def read_array(data: bytes) -> list[Payload | None]:
    return _many.decode(data)


def read_one(raw: bytes) -> Payload | None:
    """One payload, read with patience for what LiteLLM's serialiser does; Refused with a problem for each bad field."""
    try:
        value, _ = parse(raw)
    except Unreadable as unreadable:
        raise Refused([unreadable.problem], salvaged(raw, _FIELDS)) from None
    if value is None:
        return None
    if not isinstance(value, dict):
        message = f"a record must be a JSON object, this is {type_word(value)}"
        raise Refused([Problem("wrong_type", message)], "")
    return _converted({name: without_markers(member) for name, member in value.items() if name in _FIELDS})


def _converted(known: dict[str, Any]) -> Payload:
    found = []
    if not isinstance(known.get("response"), dict):
        known.pop("response", None)
    fields: dict[str, Any] = {}
    for name, member in known.items():
        try:
            fields[name] = msgspec.convert(member, _FIELDS[name])
        except msgspec.ValidationError as error:
            if name != "response":
                found.append(_plain(name, error, member))
    payload = Payload(**fields)
    named = {problem.field for problem in found}
    found += [
        Problem("not_finite", "must be a finite number", path)
        for path in not_finite(msgspec.to_builtins(payload))
        if path not in named
    ]
    if found:
        raise Refused(found, kept({name: member for name, member in known.items() if name != "response"}))
    return payload


def _plain(name: str, error: msgspec.ValidationError, value: Any) -> Problem:
    text, _, path = str(error).replace("`", "").replace(" | null", "").partition(" - at $")
    if isinstance(value, float) and not np.isfinite(value):
        return Problem("not_finite", "must be a finite number", name)
    return Problem("wrong_type", text.replace("Expected", "must be").replace("got", "this is"), name + path)


S = TypeVar("S", bound=msgspec.Struct)


def _columns(structs: Sequence[Any], kind: type[S], absent: tuple[Any, ...]) -> list[Sequence[Any]]:
    """The fields of nested structs by column; anything that is no such struct counts as empty."""
    try:
        return list(zip(*map(astuple, structs), strict=True))
    except TypeError:
        return list(zip(*[astuple(struct) if type(struct) is kind else absent for struct in structs], strict=True))


_NO_METADATA = astuple(Metadata())
_NO_REQUESTER = astuple(Requester())
_NO_HEADERS = astuple(Headers())
_NO_ERROR = astuple(ErrorInformation())
_NO_USAGE = astuple(Usage())
_NO_INPUT_DETAILS = astuple(InputDetails())


def readings(payloads: list[Payload], prefix: str) -> Readings:
    """The payloads by column."""
    (
        starts,
        ends,
        firsts,
        ids,
        calls,
        traces,
        sessions,
        call_types,
        streams,
        statuses,
        providers,
        models,
        groups,
        model_ids,
        bases,
        prompt_tokens,
        completion_tokens,
        costs,
        end_users,
        errors,
        metadata,
        responses,
    ) = zip(*map(astuple, payloads), strict=True)
    who = _columns(metadata, Metadata, _NO_METADATA)
    asked = _columns(who[7], Requester, _NO_REQUESTER)
    asked = _with_headers(asked, asked[5], who[8])
    codes, classes = _columns(errors, ErrorInformation, _NO_ERROR)
    (endpoints,) = _columns(who[10], KeyMetadata, (None,))
    # All that takes few values is looked at once for each combination that occurs.
    row, rows = numbered(
        zip(
            zip(who[2], who[3], asked[4], endpoints, asked[3], who[1], who[0], groups, models, bases, strict=True),
            zip(map(_pod, who[11]), providers, call_types, who[5], who[6], strict=True),
            zip(statuses, codes, classes, map(_finish, responses), streams, strict=True),
            strict=True,
        )
    )
    charges = _charges(costs)
    label, labels = _labels(row, rows, charges)
    numbers = _times(starts, ends, firsts) | _words(row, rows)
    first = numbers["first_token_us"]
    numbers["first_token_us"] = np.where(numbers["stream"] == 1, first, np.nan)
    numbers["attempt"] = _counts(asked[1], 1)
    numbers["step"] = _counts(asked[2], 0)
    _add_tokens(numbers, prompt_tokens, completion_tokens, who[9])
    names = [
        f"{prefix}\0{call or ''}\0{id_ or ''}\0{status}\0{started}\0{model_id or ''}"
        for call, id_, status, started, model_id in zip(
            calls, ids, statuses, _whole(numbers["started_us"]), model_ids, strict=True
        )
    ]
    tasks = asked[0]
    if not set(map(type, tasks)) <= {str, type(None)}:
        tasks = [None if task is None else str(task) for task in tasks]
    nameless = [i for i, (call, id_) in enumerate(zip(calls, ids, strict=True)) if not call and not id_]
    no_parent = [None] * len(payloads)
    keys = [calls, traces, ids, no_parent, sessions, tasks, _first(end_users, who[4])]
    return Readings(names, keys, label, labels, numbers, charges, frozenset(nameless))


def _whole(values: Floats) -> list[int]:
    whole: list[int] = np.nan_to_num(values).astype(np.int64).tolist()
    return whole


def _labels(row: Ints, rows: list[tuple[Any, ...]], charges: Ints) -> tuple[Ints, list[Label]]:
    """Label sets: of each distinct row without a charge and, behind those, with one."""
    labels: list[Label] = []
    for currency in (None, "USD"):
        for (team, alias, asked_team, endpoint, asked_endpoint, key, digest, group, model, base), place, _ in rows:
            pod, provider = place[:2]
            who = (team or alias or asked_team, endpoint or asked_endpoint, key, digest)
            labels.append((*who, group or model, model, base, pod, None, provider, currency))
    return row + len(rows) * (charges >= 0), labels


def _words(row: Ints, rows: list[tuple[Any, ...]]) -> dict[str, Floats]:
    """The small numbers of each record, from those of its distinct row."""
    table: list[tuple[Any, ...]] = []
    for who, (_, _, call_type, origin, silent), (status, code, error_class, finish, stream) in rows:
        text = "" if code is None else str(code)
        happened = (_status(status, text, error_class or ""), _http_status(text), finish_code(finish), stream)
        table.append((*happened, _operation(call_type), _traffic(call_type, who[5], origin, silent)))
    names = ("status", "http_status", "finish", "stream", "operation", "traffic")
    return {name: floats(column)[row] for name, column in zip(names, zip(*table, strict=True), strict=True)}


def _first(*columns: Sequence[Any]) -> Sequence[Any]:
    """For each record the first text that is given."""
    best = columns[0]
    for column in columns[1:]:
        if all(best):
            return best
        best = [one or other for one, other in zip(best, column, strict=True)]
    return best


def _with_headers(asked: list[Sequence[Any]], *headers: Sequence[Any]) -> list[Sequence[Any]]:
    """Task id, attempt, step and endpoint, from x- headers where the request's metadata has none."""
    for structs in headers:
        if all(task is not None for task in asked[0]) and all(asked[3]):
            break
        given = _columns(structs, Headers, _NO_HEADERS)
        if any(any(column) for column in given):
            filled = [
                [own if own is not None else other for own, other in zip(column, header, strict=True)]
                for column, header in zip(asked[:4], given, strict=True)
            ]
            asked = [*filled, *asked[4:]]
    return asked


def _status(status: str | None, code: str, error_class: str) -> int | None:
    """What happened. An error counts over a success, and the class of a time-out over its code."""
    if status not in ("success", "failure"):
        return None
    if "timeout" in error_class.lower():
        return int(Status.TIMEOUT)
    error = status_of_code(int(code)) if _http_status(code) else None
    if error is None and status == "success" and not error_class:
        return int(Status.OK)
    return int(Status.SERVER_ERROR if error is None else error)


def _http_status(code: str) -> int | None:
    return int(code) if len(code) == 3 and code.isascii() and code.isdecimal() and 100 <= int(code) <= 599 else None


def _count(value: Any, low: int) -> int | None:
    """A small count out of free-form metadata; what is none is not known, since clients write what they like."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if low <= count <= limits.MAX_COUNT else None


def _counts(column: Sequence[Any], low: int) -> Floats:
    if set(map(type, column)) <= {int, type(None)}:
        counts = floats(column)
        return np.where((counts >= low) & (counts <= limits.MAX_COUNT), counts, np.nan)
    return floats([_count(value, low) for value in column])


_OPERATIONS = {
    "completion": Operation.CHAT,
    "anthropic_messages": Operation.CHAT,
    "generate_content": Operation.CHAT,
    "generate_content_stream": Operation.CHAT,
    "text_completion": Operation.COMPLETION,
    "embedding": Operation.EMBEDDINGS,
    "rerank": Operation.RERANK,
    "transcription": Operation.TRANSCRIPTION,
    "speech": Operation.SPEECH,
    "image_generation": Operation.IMAGE,
    "image_edit": Operation.IMAGE,
    "image_variation": Operation.IMAGE,
    "moderation": Operation.MODERATION,
    "responses": Operation.RESPONSES,
}


def _operation(call_type: str | None) -> int:
    name = (call_type or "").lstrip("_")
    return int(_OPERATIONS.get(name, _OPERATIONS.get(name.removeprefix("a"), Operation.OTHER)))


def _traffic(call_type: str | None, key_alias: str | None, origin: str | None, silent: bool | None) -> int:
    if silent or (origin or "").startswith("shadow"):
        return int(Traffic.SHADOW)
    if key_alias == "litellm-internal-health-check":
        return int(Traffic.HEALTH)
    if origin:
        return int(Traffic.JUDGE)
    return int(Traffic.BATCH if "batch" in (call_type or "") else Traffic.USER)


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
    return [_moment(value) if isinstance(value, str) else value for value in column]


def _moment(text: str) -> datetime | float:
    """A time that is written out; without an offset it is UTC. NaN when it cannot be read."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return float("nan")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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


def more_problems(payload: Payload) -> list[Problem]:
    """What is wrong with one payload beyond times, counts and texts."""
    found = []
    if not payload.id and not payload.litellm_call_id:
        message = "a record needs an id or a litellm_call_id, so that one sent twice is stored once"
        found.append(Problem("missing", message, "id"))
    if payload.status not in ("success", "failure"):
        message = "must be 'success' or 'failure'"
        if payload.status is None and payload.startTime is not None and payload.call_type is not None:
            message += "; payloads of generic_api_use_v1 have none: leave that setting off"
        found.append(Problem("unknown_word" if payload.status else "missing", message, "status"))
    for name in ("startTime", "endTime"):
        value = getattr(payload, name)
        if isinstance(value, str) and _moment(value) != _moment(value):
            found.append(Problem("wrong_type", "is not a time: seconds since 1970 or ISO 8601 are read", name))
    return found


def kept_struct(payload: Payload) -> str:
    """What may be kept of a payload: the fields that are read, less the finish reason's surroundings."""
    fields = msgspec.to_builtins(payload)
    fields.pop("response", None)
    return kept({name: value for name, value in fields.items() if value is not None})
