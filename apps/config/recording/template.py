"""A recorded line cut around its times and ids, so that a copy of it at another time is one join of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

_TIMES = tuple(
    f'"{name}": '.encode() for name in ("startTime", "endTime", "completionStartTime", "created", "decided_at")
)
_SECONDS = re.compile(rb"\d{10}(?=[.,}\s])")
_ID_FIELDS = ("id", "litellm_call_id", "trace_id", "session_id")


@dataclass(frozen=True, slots=True)
class Template:
    """`pieces[i]` stands before slot i: a time in whole seconds, or None where the copy's tag is added to an id.

    Fractions of seconds stay in the pieces, so that a shift by whole seconds leaves every latency as it was, exactly.
    """

    pieces: tuple[bytes, ...]
    slots: tuple[int | None, ...]

    @property
    def first_second(self) -> int:
        return min(slot for slot in self.slots if slot is not None)

    def at(self, shift_seconds: int, tag: bytes) -> bytes:
        """The line `shift_seconds` later, with `tag` at the end of every id."""
        parts = [self.pieces[0]]
        add = parts.append
        for slot, piece in zip(self.slots, self.pieces[1:], strict=True):
            add(tag if slot is None else b"%d" % (slot + shift_seconds))
            add(piece)
        return b"".join(parts)


def payload_template(line: bytes) -> Template:
    """Of a LiteLLM StandardLoggingPayload: its times, and the ids of call, attempt, trace, session and task."""
    payload = msgspec.json.decode(line)
    metadata = (payload.get("metadata") or {}).get("requester_metadata") or {}
    ids = {payload.get(name) for name in _ID_FIELDS} | {metadata.get("task_id")}
    return _template(line, {identifier for identifier in ids if isinstance(identifier, str) and identifier})


def outcome_template(line: bytes) -> Template:
    """Of a task's outcome: when it was decided, and the task."""
    return _template(line, {str(msgspec.json.decode(line)["task_id"])})


def _template(line: bytes, ids: set[str]) -> Template:
    """Cut behind every whole string that is an id, and around the whole seconds of every time."""
    cuts: list[tuple[int, int, int | None]] = []
    for label in _TIMES:
        for end in _ends(line, label):
            if match := _SECONDS.match(line, end):
                cuts.append((match.start(), match.end(), int(match.group())))
    for identifier in ids:
        cuts += [(end - 1, end - 1, None) for end in _ends(line, msgspec.json.encode(identifier))]
    pieces: list[bytes] = []
    position = 0
    for start, end, _ in sorted(cuts, key=lambda cut: cut[0]):
        pieces.append(line[position:start])
        position = end
    pieces.append(line[position:])
    return Template(tuple(pieces), tuple(slot for _, _, slot in sorted(cuts, key=lambda cut: cut[0])))


def _ends(line: bytes, text: bytes) -> Iterator[int]:
    """Positions behind each occurrence of `text`."""
    at = line.find(text)
    while at >= 0:
        yield at + len(text)
        at = line.find(text, at + len(text))
