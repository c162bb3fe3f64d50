"""Words, codes, times and amounts that several sources share, as our own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from apps.core.vocabulary import Finish, Status
from apps.ingest.domain import limits
from apps.ingest.domain.records import Floats, Ints
from apps.ingest.domain.validation import floats

_FINISH = {
    **dict.fromkeys(("stop", "end_turn", "eos", "stop_sequence", "completed"), Finish.STOP),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), Finish.LENGTH),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), Finish.TOOL_CALLS),
    **dict.fromkeys(("content_filter", "safety", "refusal", "content_filtered"), Finish.CONTENT_FILTER),
    **dict.fromkeys(("error", "abort", "cancelled"), Finish.ERROR),
}


def finish_code(word: str | None) -> int | None:
    """What a finish reason means; None when none was given."""
    if not word:
        return None
    return int(_FINISH.get(word.lower(), Finish.OTHER))


def status_of_code(code: int) -> Status | None:
    """What an HTTP status says of a request; None when it is no error. 499 is a client that hung up."""
    if code < 400:
        return None
    special = {408: Status.TIMEOUT, 429: Status.RATE_LIMITED, 499: Status.ABORTED, 504: Status.TIMEOUT}
    return special.get(code, Status.CLIENT_ERROR if code < 500 else Status.SERVER_ERROR)


def micros(column: Sequence[Any]) -> Floats:
    """Times as microseconds since 1970: of seconds, or of aware datetimes; NaN where there is none."""
    kinds = set(map(type, column))
    if kinds <= {float, int, type(None)}:
        return _micros(floats(column))
    if kinds == {datetime}:
        return _micros(floats(list(map(datetime.timestamp, column))))
    seconds = [value.timestamp() if isinstance(value, datetime) else value for value in column]
    return _micros(floats(seconds))


def _micros(seconds: Floats) -> Floats:
    # What is too far away to be a time becomes infinite, and fails a bound.
    with np.errstate(over="ignore"):
        micros: Floats = np.rint(seconds * limits.SECOND_US)
    return micros


@lru_cache(maxsize=4096)
def picos(amount: Decimal) -> int:
    """An amount in 10^-12 of its currency, rounded half-even; -2 if it is not finite, negative or not believable."""
    if not amount.is_finite() or not 0 <= amount <= limits.MAX_CHARGE:
        return -2
    return int(amount.scaleb(12).to_integral_value(ROUND_HALF_EVEN))


def picos_column(amounts: Sequence[Decimal | None]) -> Ints:
    """`picos` of each amount, -1 where there is none; shape (n,)."""
    return np.array([-1 if amount is None else picos(amount) for amount in amounts], dtype=np.int64)
