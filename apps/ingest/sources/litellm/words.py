"""What LiteLLM's words for status, call and traffic mean in ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from apps.core.vocabulary import Operation, Status, Traffic
from apps.ingest.domain import limits
from apps.ingest.domain.meanings import status_of_code
from apps.ingest.domain.records import Floats
from apps.ingest.domain.validation import floats


def status_code(claimed: str | None, code: str, error_class: str) -> int | None:
    """What happened. An error counts over a success, and the class of a time-out over its code."""
    if claimed not in ("success", "failure"):
        return None
    if "timeout" in error_class.lower():
        return int(Status.TIMEOUT)
    error = status_of_code(int(code)) if http_status(code) else None
    if error is None and claimed == "success" and not error_class:
        return int(Status.OK)
    return int(Status.SERVER_ERROR if error is None else error)


def http_status(code: str) -> int | None:
    return int(code) if len(code) == 3 and code.isascii() and code.isdecimal() and 100 <= int(code) <= 599 else None


def _count(value: Any, low: int) -> int | None:
    """A small count out of free-form metadata; what is none is not known, since clients write what they like."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if low <= count <= limits.MAX_COUNT else None


def counts(column: Sequence[Any], low: int) -> Floats:
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


def operation(call_type: str | None) -> int:
    name = (call_type or "").lstrip("_")
    return int(_OPERATIONS.get(name, _OPERATIONS.get(name.removeprefix("a"), Operation.OTHER)))


def traffic(call_type: str | None, key_alias: str | None, origin: str | None, silent: bool | None) -> int:
    if silent or (origin or "").startswith("shadow"):
        return int(Traffic.SHADOW)
    if key_alias == "litellm-internal-health-check":
        return int(Traffic.HEALTH)
    if origin:
        return int(Traffic.JUDGE)
    return int(Traffic.BATCH if "batch" in (call_type or "") else Traffic.USER)
