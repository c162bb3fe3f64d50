"""One JSON object read field by field into a struct that names every field: all that is wrong, not only the first."""

from __future__ import annotations

import difflib
from decimal import Decimal
from functools import cache, lru_cache
from itertools import islice
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET

from apps.core.errors import Problem
from apps.ingest.domain import limits
from apps.ingest.domain.objects import Unreadable, kept, not_finite, parse, salvaged, type_word
from apps.ingest.domain.splitting import Bytes

S = TypeVar("S", bound=msgspec.Struct)
_COLON, _QUOTE, _N, _SPACES = ord(":"), ord('"'), ord("n"), list(b" \t\n\r")


class Refused(ValueError):
    """A record that is wrong; carries every problem and what may be kept of the record."""

    def __init__(self, found: list[Problem], payload: str) -> None:
        super().__init__("; ".join(problem.message for problem in found))
        self.problems = found
        self.payload = payload


class PossibleRepeat(ValueError):
    """Somewhere in the text a field may stand twice: look at the records one by one."""


def count_keys(data: Bytes) -> tuple[int, int]:
    """(keys, nulls) in a text of flat JSON records, or more, if a text in it looks like one.

    The decoder keeps the last of two equal keys silently. But a key is followed by a colon, at once unless there is
    white space between (then PossibleRepeat is raised), and texts can only add to the `":` that there are: so as many
    of them as fields that came out means that nothing stood twice.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    colons = np.flatnonzero(text == _COLON)
    before, behind = text[colons - 1], text[colons + 1]
    if np.isin(before, _SPACES).any():
        raise PossibleRepeat
    nulls = np.count_nonzero(behind == _N)
    spaced = colons[np.isin(behind, _SPACES)]
    nulls += np.count_nonzero(np.isin(text[spaced + 2], [_N, *_SPACES]))
    return int(np.count_nonzero(before == _QUOTE)), int(nulls)


def refuse_repeats(data: Bytes, rows: list[tuple[Any, ...]]) -> None:
    """Raise PossibleRepeat unless no field can stand twice in one of the flat records decoded to `rows`, in which UNSET
    stands for a field that was not there.
    """
    keys, _ = count_keys(data)
    if keys != sum(map(len, rows)) - sum(row.count(UNSET) for row in rows):
        raise PossibleRepeat


def read_object(raw: bytes, kind: type[S]) -> S:
    """The record in a JSON text, or Refused with every problem that its fields have by themselves."""
    types = _types(kind)
    try:
        value, twice = parse(raw)
    except Unreadable as unreadable:
        raise Refused([unreadable.problem], salvaged(raw, types)) from None
    if not isinstance(value, dict):
        message = f"a record must be a JSON object, this is {type_word(value)}"
        raise Refused([Problem("wrong_type", message)], "")
    found = [
        Problem("duplicate_key", "stands twice in the record: send it once", name[:80])
        for name in twice[: limits.MAX_PROBLEMS]
    ]
    found += [
        Problem("not_finite", "must be a finite number", path[:80])
        for path in islice(not_finite(value), limits.MAX_PROBLEMS)
    ]
    del found[limits.MAX_PROBLEMS :]
    named = {problem.field for problem in found}
    given: dict[str, Any] = {}
    for name, member in value.items():
        if name not in types:
            if len(found) < limits.MAX_PROBLEMS:
                message = f"is not a field of this format{_nearest(name[:80], kind)}"
                found.append(Problem("unknown_field", message, name[:80]))
        elif name not in named:
            try:
                given[name] = msgspec.convert(_exact(member, types[name]), types[name])
            except msgspec.ValidationError as error:
                found.append(Problem("wrong_type", _plain(error, member), name))
    if found:
        raise Refused(found, kept(value))
    return kind(**given)


@cache
def _types(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def _exact(value: Any, kind: Any) -> Any:
    """A number for a Decimal field by its digits, as the fast decoder reads it."""
    return Decimal(repr(value)) if isinstance(value, float) and Decimal in getattr(kind, "__args__", ()) else value


def _plain(error: msgspec.ValidationError, value: Any) -> str:
    text = str(error).replace("`", "").replace(" | null", "")
    if "RFC3339" in text:
        return "is not a time: use RFC 3339 with an offset, such as 2026-11-30T07:32:51.26Z, or seconds since 1970"
    if "timezone" in text:
        return "has no offset: write 2026-11-30T07:32:51Z or +00:00, so that the hour is certain"
    expected, got, _ = text.partition(", got ")
    if got:
        return f"{expected.replace('Expected', 'must be')}, this is {type_word(value)}"
    return text


@lru_cache(maxsize=4096)
def _nearest(name: str, kind: type[msgspec.Struct]) -> str:
    """A guess at the field that was meant. Slow, and asked for the same names over and over when a sender is wrong."""
    close = difflib.get_close_matches(name, list(_types(kind)), n=1)
    return f": did you mean '{close[0]}'?" if close else ""
