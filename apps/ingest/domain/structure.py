"""Bytes of JSON into where its brackets and commas stand outside of texts, without decoding it or needing it valid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.ingest.domain.records import Ints, Mask

STEP_BYTES = 1 << 18
"""Looked at together; larger steps only leave the processor's cache."""
_QUOTE, _BACKSLASH, _COMMA = ord('"'), ord("\\"), ord(",")
_SIGN = np.zeros(256, dtype=np.int8)
_SIGN[list(b"[{")] = 1
_SIGN[list(b"]}")] = -1


@dataclass(frozen=True, slots=True)
class Step:
    """`commas` stand between elements at the outermost level, `close` is where that level ends (-1: not here)."""

    commas: Ints
    close: int
    deepest: int
    brackets: int


@dataclass(slots=True)
class Structure:
    """Reads a text step by step, remembering where it is: how deep, inside a text, behind a backslash."""

    depth: int = 0
    in_text: bool = False
    escaped: bool = False

    def read(self, data: bytes) -> Step:
        """The next bytes of the text, which must be some. Behind a `close` nothing means anything any more."""
        chars = np.frombuffer(data, dtype=np.uint8)
        quotes = self._quotes(chars)
        # A text begins with its opening quote; its closing quote counts as outside, and is no bracket anyway.
        inside = np.logical_xor.accumulate(quotes) ^ self.in_text
        signs = _SIGN[chars]
        signs[inside] = 0
        depths = np.cumsum(signs, dtype=np.int32) + np.int32(self.depth)
        below = depths < 0
        close = int(below.argmax()) if below.any() else -1
        commas = np.flatnonzero((chars == _COMMA) & (depths == 0) & ~inside)
        if close >= 0:
            commas = commas[commas < close]
        deepest = int(depths.max())
        self.in_text, self.depth = bool(inside[-1]), int(depths[-1])
        return Step(commas, close, deepest, int(np.count_nonzero(signs)))

    def _quotes(self, chars: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> Mask:
        """Which bytes are quotes that begin or end a text: no odd number of backslashes stands before them."""
        quotes: Mask = chars == _QUOTE
        first_escaped, self.escaped = self.escaped, False
        slashes = np.flatnonzero(chars == _BACKSLASH)
        if first_escaped:
            quotes[0] = False
            if len(slashes) and slashes[0] == 0:
                slashes = slashes[1:]
        if not len(slashes):
            return quotes
        # A backslash escapes what follows if an even number of them stands directly before it.
        starts = np.concatenate(([True], np.diff(slashes) > 1))
        first_of_run = np.maximum.accumulate(np.where(starts, slashes, 0))
        escaping = slashes[(slashes - first_of_run) % 2 == 0]
        if escaping[-1] == len(chars) - 1:
            self.escaped = True
            escaping = escaping[:-1]
        quotes[escaping + 1] = False
        return quotes


def shape_of(data: bytes) -> tuple[int, int]:
    """(levels of nesting, brackets) of one whole text."""
    structure = Structure()
    deepest = brackets = 0
    for start in range(0, len(data), STEP_BYTES):
        step = structure.read(data[start : start + STEP_BYTES])
        deepest, brackets = max(deepest, step.deepest), brackets + step.brackets
    return deepest, brackets
