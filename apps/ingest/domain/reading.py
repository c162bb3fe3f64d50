"""Pieces of a body turned into valid records and explained rejections, through one source's codec."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec
import numpy as np

from apps.core.errors import Problem
from apps.ingest.domain.identity import identities128, keys64, secret_keys64
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.objects import Unreadable, parse
from apps.ingest.domain.records import KEYS, Ints, Mask, Readings, Records, Rejected, joined
from apps.ingest.domain.splitting import Bytes, Piece, pieces
from apps.ingest.domain.validation import Spoken, faults, problems


class Codec(Protocol):
    """One request source: how its records are decoded, read by column, and explained when they are wrong.

    `read_lines` and `read_array` are the fast way and raise (msgspec.MsgspecError, UnicodeError, RecursionError or
    ValueError) if anything at all is wrong; then `read_one` takes every record on its own. None stands for an element
    that is no record and no fault.
    """

    SPOKEN: Spoken

    def read_lines(self, data: Bytes) -> list[Any]: ...

    def read_array(self, data: bytes) -> list[Any]: ...

    def read_one(self, raw: bytes) -> Any: ...

    def readings(self, structs: list[Any], prefix: str) -> Readings: ...

    def more_problems(self, struct: Any) -> list[Problem]: ...

    def kept_struct(self, struct: Any) -> str: ...


class Refused(Exception):
    """`Codec.read_one` found the record wrong; carries every problem and what may be kept of the record."""

    def __init__(self, found: list[Problem], payload: str) -> None:
        super().__init__("; ".join(problem.message for problem in found))
        self.problems = found
        self.payload = payload


FAST_FAILURES = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


@dataclass(slots=True)
class Chunk:
    """Records that become durable together. `bytes` counts the plain bytes that were read for it."""

    records: Records | None = None
    rejected: list[Rejected] = field(default_factory=list)
    bytes: int = 0


@dataclass(slots=True)
class _Waiting:
    """What has been read for the next chunk: decoded records not yet read by column, pages of those that were."""

    structs: list[Any] = field(default_factory=list)
    positions: array[int] = field(default_factory=lambda: array("q"))
    pages: list[Records] = field(default_factory=list)
    chunk: Chunk = field(default_factory=Chunk)

    @property
    def count(self) -> int:
        return sum(map(len, self.pages)) + len(self.chunk.rejected)

    def whole(self) -> Chunk:
        self.chunk.records = joined(self.pages) if self.pages else None
        return self.chunk


@dataclass(slots=True)
class Reader:
    """Reads one body. `prefix` is the source kind and key scope, so that ids of two senders never meet;
    `user_secret` keys the hash of end users.
    """

    codec: Codec
    prefix: str
    now_us: int
    user_secret: bytes
    sizes: Sizes = field(default_factory=Sizes)
    position: int = 0
    _decoded: list[Any] = field(default_factory=list)

    def chunks(self, blocks: Iterable[Bytes]) -> Iterator[Chunk]:
        """All of a body in chunks of about `sizes.chunk_records`. Raises InvalidInput for a body that is bad as such."""
        waiting = _Waiting()
        for piece in pieces(blocks, self.sizes, self._decodes):
            waiting.chunk.bytes += len(piece.data)
            self._decode(piece, waiting)
            if len(waiting.structs) >= self.sizes.page_records:
                self._read_page(waiting)
            if waiting.count >= self.sizes.chunk_records:
                yield waiting.whole()
                waiting = _Waiting()
        self._read_page(waiting)
        yield waiting.whole()

    def _decodes(self, data: bytes) -> bool:
        try:
            self._decoded = self.codec.read_array(data)
        except FAST_FAILURES:
            return False
        return True

    def _decode(self, piece: Piece, waiting: _Waiting) -> None:
        """Add the piece's decoded records, or the reasons why they are none."""
        if piece.shape in ("too_long", "broken"):
            code = "too_large" if piece.shape == "too_long" else "not_json"
            waiting.chunk.rejected.append(Rejected(self.position, "", (Problem(code, piece.note, "", self.position),)))
            self.position += 1
            return
        if piece.shape == "array":
            decoded, self._decoded = self._decoded, []
        else:
            try:
                decoded = self.codec.read_lines(piece.data)
            except FAST_FAILURES:
                self._one_by_one(piece, waiting)
                return
        positions = range(self.position, self.position + len(decoded))
        self.position += len(decoded)
        if None in decoded:
            waiting.positions.extend(i for i, struct in zip(positions, decoded, strict=True) if struct is not None)
            waiting.structs.extend(struct for struct in decoded if struct is not None)
        else:
            waiting.positions.extend(positions)
            waiting.structs.extend(decoded)

    def _one_by_one(self, piece: Piece, waiting: _Waiting) -> None:
        for raw in self._raws(bytes(piece.data)):
            try:
                struct = self.codec.read_one(raw)
            except Refused as refused:
                found = tuple(replace(problem, record=self.position) for problem in refused.problems)
                waiting.chunk.rejected.append(Rejected(self.position, refused.payload, found))
            else:
                if struct is not None:
                    waiting.structs.append(struct)
                    waiting.positions.append(self.position)
            self.position += 1

    def _read_page(self, waiting: _Waiting) -> None:
        if waiting.structs:
            positions = np.array(waiting.positions, dtype=np.int64)
            page = self._records(waiting.structs, positions, waiting.chunk.rejected)
            if page is not None:
                waiting.pages.append(page)
            waiting.structs, waiting.positions = [], array("q")

    def _raws(self, data: bytes) -> list[bytes]:
        lines = [line for line in data.split(b"\n") if line.strip()]
        return [data] if len(lines) > 1 and _is_one_value(data) else lines

    def _records(self, structs: list[Any], positions: Ints, rejected: list[Rejected]) -> Records | None:
        readings = self.codec.readings(structs, self.prefix)
        bad = faults(readings, self.now_us)
        if bad.any():
            return self._without_bad(structs, positions, readings, bad, rejected)
        keys = {name: keys64(column) for name, column in zip(KEYS[:-1], readings.ids[:-1], strict=True)}
        keys["end_user_key"] = secret_keys64(readings.ids[-1], self.user_secret)
        tasks = readings.ids[KEYS.index("task_key")]
        named = {key: text for key, text in zip(keys["task_key"].tolist(), tasks, strict=True) if text}
        return Records(
            positions,
            identities128(readings.names),
            keys,
            readings.numbers,
            readings.charge_picos,
            readings.label,
            readings.labels,
            named,
        )

    def _without_bad(
        self, structs: list[Any], positions: Ints, readings: Readings, bad: Mask, rejected: list[Rejected]
    ) -> Records | None:
        """Explain the bad records and read the others again."""
        for i in np.nonzero(bad)[0].tolist():
            found = problems(readings, i, self.now_us, self.codec.SPOKEN) + self.codec.more_problems(structs[i])
            told = found or [Problem("invalid", "the record was not understood")]
            place = int(positions[i])
            rejected.append(
                Rejected(
                    place, self.codec.kept_struct(structs[i]), tuple(replace(problem, record=place) for problem in told)
                )
            )
        good = np.nonzero(~bad)[0]
        if not len(good):
            return None
        return self._records([structs[i] for i in good.tolist()], positions[good], rejected)


def _is_one_value(data: bytes) -> bool:
    """Whether the text is one JSON value over several lines, not a record a line."""
    try:
        parse(data)
    except Unreadable:
        return False
    return True
