"""Cursors: where a page ended and in which window, as one opaque word and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from apps.core.errors import InvalidInput, Problem
from apps.core.time import Window, from_micros, to_micros

VERSION = 1
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Cursor:
    """A page ended after `position` (the sort key of its last row). `question` tells which question it belongs to.

    The window is part of it, so that the pages of `range=7d` describe the same seven days however long the caller
    takes to read them.
    """

    question: str
    window: Window
    position: tuple[int, ...]

    def encode(self) -> str:
        parts = [VERSION, self.question, to_micros(self.window.start), to_micros(self.window.end), *self.position]
        return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def fingerprint(parts: Iterable[tuple[str, str]]) -> str:
    """A short name of a question: its path and parameters, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(parts)).encode()).hexdigest()[:16]


def decode(raw: str, question: str) -> Cursor:
    """The cursor that `raw` encodes. Raises InvalidInput when it is none, or belongs to another question."""
    try:
        padded = raw + "=" * (-len(raw) % 4)
        parts = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
        version, name, start, end, *position = parts
        whole = [start, end, *position]
        if version != VERSION or not isinstance(name, str) or any(type(n) is not int for n in whole):
            raise ValueError("not a cursor of this version")
        if any(abs(n) >= _LARGEST for n in whole):
            raise ValueError("a number is too large")
        cursor = Cursor(name, Window(from_micros(start), from_micros(end)), tuple(position))
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error) as error:
        message = "this is no cursor: pass next_cursor of the previous page unchanged"
        raise InvalidInput(Problem("wrong_value", message, "cursor")) from error
    if cursor.question != question:
        message = "this cursor belongs to another question: repeat the parameters of the page that gave it"
        raise InvalidInput(Problem("wrong_value", message, "cursor"))
    return cursor
