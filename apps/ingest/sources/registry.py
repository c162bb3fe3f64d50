"""The request sources. Adding one is a module beside this, a captured sample in tests/data, a heading in the docs."""

from __future__ import annotations

import re

from apps.ingest.domain.reading import RequestCodec
from apps.ingest.sources import litellm, native

REQUEST_SOURCES: dict[str, RequestCodec] = {native.KIND: native, litellm.KIND: litellm}

_LITELLM_MARKS = re.compile(
    rb'"(litellm_call_id|startTime|call_type|litellm_params|model_group|custom_llm_provider)"\s*:'
)
_NATIVE_MARKS = re.compile(rb'"(started_at|ended_at|call_id|http_status|input_tokens|first_token_at)"\s*:')


_OUTCOME_MARKS = re.compile(rb'"(accepted|decided_at)"\s*:')


def holds_outcomes(head: bytes) -> bool:
    """Whether a body is of outcomes rather than requests, by the fields near its start."""
    requests = _LITELLM_MARKS.search(head) or _NATIVE_MARKS.search(head)
    return _OUTCOME_MARKS.search(head) is not None and requests is None


def sniffed_kind(head: bytes) -> str:
    """Which source wrote a body, by the fields near its start. Our own format when nothing tells."""
    theirs = _LITELLM_MARKS.search(head)
    ours = _NATIVE_MARKS.search(head)
    if theirs and (ours is None or theirs.start() < ours.start()):
        return litellm.KIND
    return native.KIND
