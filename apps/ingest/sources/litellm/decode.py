"""Payloads as LiteLLM posts and writes them, into structs: fast, or one by one with patience for its serialiser."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from apps.core.errors import Problem
from apps.ingest.domain.objects import Unreadable, kept, not_finite, parse, salvaged, type_word, without_markers
from apps.ingest.domain.splitting import Bytes
from apps.ingest.domain.strict import Refused
from apps.ingest.sources.litellm.payload import Payload

_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(Payload)}
LINES = msgspec.json.Decoder(Payload | None)
ARRAY = msgspec.json.Decoder(list[Payload | None])


def read_lines(data: Bytes) -> list[Payload | None]:
    return LINES.decode_lines(data)


def read_array(data: bytes) -> list[Payload | None]:
    return ARRAY.decode(data)


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
        if isinstance(value, str) and moment(value) != moment(value):
            found.append(Problem("wrong_type", "is not a time: seconds since 1970 or ISO 8601 are read", name))
    return found


def kept_struct(payload: Payload) -> str:
    """What may be kept of a payload: the fields that are read, less the finish reason's surroundings."""
    fields = msgspec.to_builtins(payload)
    fields.pop("response", None)
    return kept({name: value for name, value in fields.items() if value is not None})


def moment(text: str) -> datetime | float:
    """A time that is written out; without an offset it is UTC. NaN when it cannot be read."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return float("nan")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
