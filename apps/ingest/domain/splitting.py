"""Blocks of bytes split into pieces that hold whole JSON records: NDJSON, one array or one object, in flat memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from apps.core.errors import InvalidInput, Problem
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.structure import STEP_BYTES, Structure

Shape = Literal["lines", "array", "too_long", "broken"]
_BOM = b"\xef\xbb\xbf"
Bytes = bytes | memoryview
SPACE = b" \t\r\n"


class Stopped(InvalidInput):
    """The rest of a body will not be read; what was read before stands."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole records: `lines` (NDJSON, or one value over several lines) or one JSON `array`.

    `too_long` and `broken` stand for one record that cannot be read at all; then `data` is empty (nothing of a record
    that cannot be taken apart may be kept, since it may hold a prompt) and `note` says what was seen.
    """

    shape: Shape
    data: Bytes
    note: str = ""


def pieces(blocks: Iterable[Bytes], sizes: Sizes, decodes: Callable[[bytes], bool]) -> Iterator[Piece]:
    """Split a body, sniffing array or NDJSON by its first byte that is no white space.

    `decodes` tells whether bytes are a JSON array of records: large arrays are cut where the cut proves right.
    Raises InvalidInput when there is nothing, or nothing that could be JSON.
    """
    blocks = iter(blocks)
    head, start = _opening(blocks)
    if not head:
        raise InvalidInput(Problem("empty", "the body is empty: send NDJSON (one record a line) or a JSON array"))
    if start[:1] not in (b"{", b"[", b'"', b"-", b"t", b"f", b"n", b"N", b"I") and not start[:1].isdigit():
        shown = ascii(start[:20].decode("ascii", "replace"))[1:-1]
        message = f"the body starts with '{shown}' and is not JSON: send NDJSON or a JSON array of records"
        raise InvalidInput(Problem("not_json", message))
    if start[:1] == b"[":
        yield from _array(bytes(head), map(bytes, blocks), sizes, decodes)
    else:
        yield from _lines(head, blocks, sizes)


def _opening(blocks: Iterator[Bytes]) -> tuple[Bytes, bytes]:
    """The first block that says something, from where it does, and up to 64 bytes of it; both empty for none."""
    for block in blocks:
        looked_at = bytes(block[:64])
        start = looked_at.removeprefix(_BOM).lstrip(SPACE)
        if start:
            return block[len(looked_at) - len(start) :], start
        rest = bytes(block).removeprefix(_BOM).lstrip(SPACE)
        if rest:
            return rest, rest[:64]
    return b"", b""


def _lines(head: Bytes, blocks: Iterator[Bytes], sizes: Sizes) -> Iterator[Piece]:
    """Whole lines; only what crosses from one block into the next is copied."""
    second = next(blocks, None)
    if second is None and len(head) <= sizes.block_bytes:
        # In one piece, since it may be one object over several lines.
        yield from _long_lines_out(head, sizes)
        return
    rest, skipped = b"", 0
    for block in chain((head,), () if second is None else (second,), blocks):
        for view in _steps(block, sizes.block_bytes):
            start = 0
            if rest or skipped:
                start = _find_newline(view) + 1
                if not start:
                    rest, skipped = _carried(rest, skipped, view, sizes)
                    continue
                if skipped:
                    yield _too_long(skipped + start - 1, sizes)
                else:
                    yield from _long_lines_out(rest + bytes(view[:start]), sizes)
            end = _rfind_newline(view, start) + 1
            if end > start:
                yield from _long_lines_out(view[start:end], sizes)
            rest, skipped = _carried(b"", 0, view[max(start, end) :], sizes)
    if skipped:
        yield _too_long(skipped, sizes)
    elif rest:
        yield from _long_lines_out(rest, sizes)


def _steps(block: Bytes, size: int) -> Iterator[memoryview]:
    view = memoryview(block)
    return (view[start : start + size] for start in range(0, len(view), size))


def _carried(rest: bytes, skipped: int, view: memoryview, sizes: Sizes) -> tuple[bytes, int]:
    """What to remember of a line that is not complete: its bytes, or only their number once they are too many."""
    if skipped or len(rest) + len(view) > sizes.record_bytes:
        return b"", skipped + len(rest) + len(view)
    return rest + bytes(view), 0


_WINDOW = 1 << 15


def _find_newline(view: memoryview, start: int = 0) -> int:
    """Index of the first newline from `start` on, -1 for none. A view has no search of its own: windows are copied."""
    for at in range(start, len(view), _WINDOW):
        found = bytes(view[at : at + _WINDOW]).find(b"\n")
        if found >= 0:
            return at + found
    return -1


def _rfind_newline(view: memoryview, start: int = 0) -> int:
    """Index of the last newline from `start` on, -1 for none."""
    end = len(view)
    while end > start:
        at = max(start, end - _WINDOW)
        found = bytes(view[at:end]).rfind(b"\n")
        if found >= 0:
            return at + found
        end = at
    return -1


def _long_lines_out(data: Bytes, sizes: Sizes) -> Iterator[Piece]:
    """The lines of `data`, with over-long ones replaced. Looking back once in a record's limit finds any there is."""
    view = memoryview(data)
    start = position = 0
    while len(view) - position > sizes.record_bytes:
        newline = _rfind_newline(view[: position + sizes.record_bytes + 1], position)
        if newline >= 0:
            position = newline + 1
            continue
        if position > start:
            yield Piece("lines", view[start:position])
        end = _find_newline(view, position)
        end = len(view) if end < 0 else end
        yield _too_long(end - position, sizes)
        start = position = end + 1
    if start < len(view):
        yield Piece("lines", view[start:])


def _too_long(length: int, sizes: Sizes) -> Piece:
    return Piece(
        "too_long", b"", f"the record is {length:,} bytes long: at most {sizes.record_bytes:,} are read for one record"
    )


def _array(head: bytes, blocks: Iterator[bytes], sizes: Sizes, decodes: Callable[[bytes], bool]) -> Iterator[Piece]:
    parts, length = [head], len(head)
    for block in blocks:
        parts.append(block)
        length += len(block)
        if length > sizes.whole_bytes:
            break
    data = b"".join(parts)
    if length <= sizes.whole_bytes:
        if decodes(data):
            yield Piece("array", data)
            return
        yield from _elements(data[1:], blocks, sizes)
        return
    opening = re.match(rb'\[[ \t\r\n]*(\{[ \t\r\n]*"[^"\\]{1,100}")', data)
    buffer = data[1:]
    while opening and len(buffer) >= sizes.block_bytes:
        cut = buffer.rfind(opening[1])
        comma = buffer.rfind(b",", 0, cut) if cut > 0 else -1
        body = b"[" + buffer[: max(comma, 0)] + b"]"
        if comma < 0 or buffer[comma + 1 : cut].strip(SPACE) or not decodes(body):
            break
        yield Piece("array", body)
        buffer = buffer[cut:] + b"".join(_up_to(blocks, sizes.block_bytes))
    yield from _elements(buffer, blocks, sizes)


def _up_to(blocks: Iterator[bytes], size: int) -> Iterator[bytes]:
    taken = 0
    while taken < size and (block := next(blocks, None)) is not None:
        taken += len(block)
        yield block


@dataclass(slots=True)
class _Element:
    """The element of an array that is being read: its bytes, or only their number once they are too many."""

    parts: list[bytes] = field(default_factory=list)
    length: int = 0

    def add(self, data: bytes, sizes: Sizes) -> None:
        self.length += len(data)
        self.parts = [*self.parts, data] if self.length <= sizes.record_bytes else []


def _elements(data: bytes, blocks: Iterator[bytes], sizes: Sizes) -> Iterator[Piece]:
    """Elements as lines, for arrays in which something is wrong; `data` starts behind the opening bracket."""
    together: list[bytes] = []
    length = 0
    for item in _one_by_one(data, blocks, sizes):
        if isinstance(item, bytes):
            # A line feed is white space here, or wrong inside a text, and a carriage return is the same.
            together.append(item.replace(b"\n", b"\r"))
            length += len(item)
            if len(together) < _TOGETHER and length < sizes.block_bytes:
                continue
        if together:
            yield Piece("lines", b"\n".join(together))
            together, length = [], 0
        if isinstance(item, Piece):
            yield item
    if together:
        yield Piece("lines", b"\n".join(together))


def _one_by_one(data: bytes, blocks: Iterator[bytes], sizes: Sizes) -> Iterator[bytes | Piece]:
    """Raises Stopped where an element is so long that its end is not looked for any more."""
    structure, element = Structure(), _Element()
    any_yet, skipped = False, 0
    for block in _blocks(data, blocks):
        step = structure.read(block)
        start = 0
        for end in [*step.commas.tolist(), *([step.close] if step.close >= 0 else [])]:
            element.add(block[start:end], sizes)
            if element.length > sizes.record_bytes:
                skipped += element.length
                yield _too_long(element.length, sizes)
            elif text := b"".join(element.parts).strip(SPACE):
                yield text
            elif any_yet or end != step.close:
                yield Piece("broken", b"", "there is nothing between two commas of the array")
            start, any_yet, element = end + 1, True, _Element()
        if step.close >= 0:
            yield from _after_array(block[start:], blocks)
            return
        element.add(block[start:], sizes)
        if element.length > sizes.record_bytes and skipped + element.length > sizes.skipped_bytes:
            yield _too_long(element.length, sizes)
            raise Stopped(Problem("too_long", "one of its records goes on and on: is a bracket or a quote missing?"))
    yield Piece(
        "broken", b"", "the array ends in the middle of this record: the body was cut off, or a quote is missing"
    )


_TOGETHER = 512
"""Elements decoded at a time."""


def _blocks(data: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in chain((data,), blocks):
        for start in range(0, len(block), STEP_BYTES):
            yield block[start : start + STEP_BYTES]


def elements_of(data: bytes) -> Iterator[Piece]:
    """The elements of one whole array, one by one."""
    return _elements(data.lstrip(SPACE)[1:], iter(()), Sizes(record_bytes=len(data)))


def _after_array(rest: bytes, blocks: Iterator[bytes]) -> Iterator[Piece]:
    while not rest.strip(SPACE):
        following = next(blocks, None)
        if following is None:
            return
        rest = following
    yield Piece("broken", b"", "there is more behind the end of the array: send one array, or NDJSON")
