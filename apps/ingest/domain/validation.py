"""What makes a record unbelievable: looked for in whole columns at once, explained for the few that fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from apps.core.errors import Problem
from apps.core.time import from_micros
from apps.ingest.domain import limits
from apps.ingest.domain.records import LABELS, Floats, Mask, Readings, Texts

ID_NAMES = ("call_id", "trace_id", "span_id", "parent_id", "session_id", "task_id", "end_user")
"""Own names of `Readings.ids`, in order."""

_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_BOUNDS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_TOKENS, (0, limits.MAX_TOKENS)),
    "queue_us": (0, limits.LONGEST_QUEUE_US),
    "http_status": (100, 599),
    "attempt": (1, limits.MAX_COUNT),
    "step": (0, limits.MAX_COUNT),
}


@dataclass(frozen=True, slots=True)
class Spoken:
    """The names that a source has for our columns, so that a problem names the field that the sender wrote."""

    fields: Mapping[str, str]

    def __call__(self, column: str) -> str:
        return self.fields.get(column, column)


def faults(readings: Readings, now_us: int) -> Mask:
    """Which records must not be stored, shape (n,)."""
    n, numbers = len(readings), readings.numbers
    started, ended, first = numbers["started_us"], numbers["ended_us"], numbers["first_token_us"]
    latest = now_us + limits.CLOCK_TOLERANCE_US
    # Comparisons with NaN are false: what is not known is not wrong.
    bad = ~((started >= limits.OLDEST_US) & (started <= latest))
    bad |= (ended < started) | (ended > latest) | (ended - started > limits.LONGEST_US)
    bad |= (first < started) | (first > ended) | (first > latest)
    for column, (low, high) in _BOUNDS.items():
        values = numbers[column]
        bad |= (values < low) | (values > high)
    for column in ("status", "operation", "traffic"):
        bad |= np.isnan(numbers[column])
    bad |= readings.charge_picos < -1
    if readings.faults:
        bad[list(readings.faults)] = True
    for texts in {id(column): column for column in (*readings.names, *readings.ids)}.values():
        _mark_bad_texts(texts, n, bad)
    if wrong := [i for i, label in enumerate(readings.labels) if _is_bad(label)]:
        bad |= np.isin(readings.label, wrong)
    return bad


def _mark_bad_texts(column: Texts, n: int, bad: Mask) -> None:
    given = column if all(column) else list(filter(None, column))
    if not given:
        return
    together = "".join(cast(Sequence[str], given))
    if max(map(len, cast(Sequence[str], given))) > limits.MAX_TEXT or "\x00" in together or not _is_text(together):
        for i in range(n):
            if text_problem(column[i]):
                bad[i] = True


def _is_bad(texts: tuple[str | None, ...]) -> bool:
    together = "".join(filter(None, texts))
    if len(together) <= limits.MAX_TEXT and together.isascii() and "\x00" not in together:
        return False
    return any(map(text_problem, texts))


def text_problem(text: str | None) -> tuple[str, str] | None:
    """(code, message) of what keeps a text from being stored; None when nothing does."""
    if not text:
        return None
    if len(text) > limits.MAX_TEXT:
        return "too_long", f"{len(text):,} characters: at most {limits.MAX_TEXT} are kept of an id or a label"
    if "\x00" in text:
        return "nul_byte", "contains a NUL character, which no id or label may"
    if not _is_text(text):
        return "bad_text", "contains half of a surrogate pair, which is not a character"
    return None


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def control_problem(text: object) -> tuple[str, str] | None:
    """(code, message) of a control character in an id or a label of our own formats; None where there is none."""
    if not isinstance(text, str) or not (found := _CONTROL.search(text)):
        return None
    return "control_character", f"contains the control character U+{ord(found[0]):04X}, which no id or label may"


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def problems(readings: Readings, i: int, now_us: int, spoken: Spoken) -> list[Problem]:
    """Everything that `faults` holds against record i, in words. `record` is left for the caller to fill in."""
    row = {name: float(column[i]) for name, column in readings.numbers.items()}
    found = [*_time_problems(row, now_us, spoken), *_count_problems(row, spoken)]
    if readings.charge_picos[i] < -1:
        message = f"the charge must be a number from 0 to {limits.MAX_CHARGE:,}"
        found.append(Problem("out_of_range", message, spoken("charge_amount")))
    texts: list[tuple[str, str | None]] = [("id", readings.names[0][i])]
    texts += [(name, ids[i]) for name, ids in zip(ID_NAMES, readings.ids, strict=True)]
    texts += list(zip(LABELS, readings.labels[readings.label[i]], strict=True))
    for name, text in texts:
        if wrong := text_problem(text):
            found.append(Problem(wrong[0], wrong[1], spoken(name)))
    return found


def _shown(micros: float) -> str:
    try:
        return from_micros(int(micros)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError):
        return f"{micros / limits.SECOND_US:.6g} seconds since 1970"


def _time_problems(row: Mapping[str, float], now_us: int, spoken: Spoken) -> Iterator[Problem]:
    started, ended, first = row["started_us"], row["ended_us"], row["first_token_us"]
    latest = now_us + limits.CLOCK_TOLERANCE_US
    if started != started:
        yield Problem("missing", "a record needs the time at which the request started", spoken("started_us"))
    elif started < limits.OLDEST_US:
        message = f"{_shown(started)} is before {_shown(limits.OLDEST_US)}: is it seconds since 1970, or RFC 3339?"
        yield Problem("too_old", message, spoken("started_us"))
    for column in ("started_us", "ended_us", "first_token_us"):
        if row[column] > latest:
            ahead = (row[column] - now_us) / limits.SECOND_US
            message = (
                f"{_shown(row[column])} is {ahead:,.0f} seconds ahead of this server ({_shown(now_us)}): at most "
                f"{limits.CLOCK_TOLERANCE_US // limits.SECOND_US:,} are accepted; check the sender's clock"
            )
            yield Problem("in_future", message, spoken(column))
    if ended < started:
        message = f"ends {(started - ended) / limits.SECOND_US:,.6f} seconds before it starts"
        yield Problem("out_of_order", message, spoken("ended_us"))
    if ended - started > limits.LONGEST_US:
        message = (
            f"lasts {(ended - started) / limits.HOUR_US:,.1f} hours: more than {limits.LONGEST_US // limits.HOUR_US}"
        )
        yield Problem("too_long_lasting", message, spoken("ended_us"))
    if first < started or first > ended:
        message = "the first token must come between start and end; leave it out when it is not known"
        yield Problem("out_of_order", message, spoken("first_token_us"))


def _count_problems(row: Mapping[str, float], spoken: Spoken) -> Iterator[Problem]:
    for column, (low, high) in _BOUNDS.items():
        value = row[column]
        unit = limits.SECOND_US if column == "queue_us" else 1
        if value < low:
            code = "negative" if value < 0 else "out_of_range"
            yield Problem(code, f"{value / unit:,.6g} must be at least {low // unit}", spoken(column))
        elif value > high:
            message = f"{value / unit:,.6g} is not believable: at most {high // unit:,}"
            yield Problem("absurd" if column in _TOKENS else "out_of_range", message, spoken(column))


def floats(column: Sequence[Any]) -> Floats:
    """Numbers as float64, None as NaN; what is too large for one becomes infinite, so that a bound catches it."""
    if column[0] is None and column.count(None) == len(column):
        return np.full(len(column), np.nan)
    try:
        return np.fromiter(column, np.float64, len(column))
    except OverflowError:
        return np.array([_as_float(value) for value in column], dtype=np.float64)


def _as_float(value: Any) -> float:
    if value is None:
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
