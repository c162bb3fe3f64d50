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
from apps.ingest.domain.strict import Refused
from apps.ingest.domain.validation import Spoken, faults, problems


class Codec(Protocol):
    """How one format is decoded.

    `read_lines` and `read_array` are the fast way and raise one of FAST_FAILURES if anything at all is wrong; then
    `read_one` takes every record on its own, and raises Refused for a wrong one. None stands for an element that is
    no record and no fault.
    """

    def read_lines(self, data: Bytes) -> list[Any]: ...

    def read_array(self, data: bytes) -> list[Any]: ...

    def read_one(self, raw: bytes) -> Any: ...


class RequestCodec(Codec, Protocol):
    """One request source: beside decoding, its records by column, and what else can be wrong with one of them."""

    SPOKEN: Spoken

    def readings(self, structs: list[Any], prefix: str) -> Readings: ...

    def more_problems(self, struct: Any) -> list[Problem]: ...

    def kept_struct(self, struct: Any) -> str: ...


FAST_FAILURES = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


@dataclass(slots=True)
class Decoded:
    """Records that were decoded, their places in the body, and the places that hold none. `bytes` is what was read."""

    structs: list[Any] = field(default_factory=list)
    positions: array[int] = field(default_factory=lambda: array("q"))
    rejected: list[Rejected] = field(default_factory=list)
    bytes: int = 0

    def add(self, other: Decoded) -> None:
        self.structs.extend(other.structs)
        self.positions.extend(other.positions)
        self.rejected.extend(other.rejected)
        self.bytes += other.bytes


class Decoding:
    """One body through one codec, piece by piece."""

    def __init__(self, codec: Codec, sizes: Sizes) -> None:
        self._codec = codec
        self._sizes = sizes
        self._position = 0
        self._array: list[Any] = []

    def parts(self, blocks: Iterable[Bytes]) -> Iterator[Decoded]:
        """Everything in the body. Raises InvalidInput for a body that is bad as such."""
        for piece in pieces(blocks, self._sizes, self._is_array):
            yield self._decoded(piece)

    def _is_array(self, data: bytes) -> bool:
        try:
            self._array = self._codec.read_array(data)
        except FAST_FAILURES:
            return False
        return True

    def _decoded(self, piece: Piece) -> Decoded:
        if piece.shape in ("too_long", "broken"):
            code = "too_large" if piece.shape == "too_long" else "not_json"
            rejected = Rejected(self._position, "", (Problem(code, piece.note, "", self._position),))
            self._position += 1
            return Decoded(rejected=[rejected])
        if piece.shape == "array":
            structs, self._array = self._array, []
        else:
            try:
                structs = self._codec.read_lines(piece.data)
            except FAST_FAILURES:
                return self._one_by_one(bytes(piece.data))
        places = range(self._position, self._position + len(structs))
        self._position += len(structs)
        if None in structs:
            kept = [(struct, place) for struct, place in zip(structs, places, strict=True) if struct is not None]
            return Decoded(
                [struct for struct, _ in kept], array("q", [place for _, place in kept]), [], len(piece.data)
            )
        return Decoded(structs, array("q", places), [], len(piece.data))

    def _one_by_one(self, data: bytes) -> Decoded:
        out = Decoded(bytes=len(data))
        lines = [line for line in data.split(b"\n") if line.strip()]
        for raw in [data] if len(lines) > 1 and _is_one_value(data) else lines:
            try:
                struct = self._codec.read_one(raw)
            except Refused as refused:
                found = tuple(replace(problem, record=self._position) for problem in refused.problems)
                out.rejected.append(Rejected(self._position, refused.payload, found))
            else:
                if struct is not None:
                    out.structs.append(struct)
                    out.positions.append(self._position)
            self._position += 1
        return out


def _is_one_value(data: bytes) -> bool:
    """Whether the text is one JSON value over several lines, not a record a line."""
    try:
        parse(data)
    except Unreadable:
        return False
    return True


@dataclass(slots=True)
class Chunk:
    """Records that become durable together. `bytes` counts the plain bytes that were read for it."""

    records: Records | None = None
    rejected: list[Rejected] = field(default_factory=list)
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads bodies of requests. `prefix` is source kind and key scope, so that ids of two senders never meet;
    `user_secret` keys the hash of end users.
    """

    codec: RequestCodec
    prefix: str
    now_us: int
    user_secret: bytes
    sizes: Sizes = field(default_factory=Sizes)

    def chunks(self, blocks: Iterable[Bytes]) -> Iterator[Chunk]:
        """All of a body in chunks of about `sizes.chunk_records`; at least one. Raises InvalidInput for a bad body."""
        chunk, pages, page = Chunk(), list[Records](), Decoded()
        for part in Decoding(self.codec, self.sizes).parts(blocks):
            page.add(part)
            if len(page.structs) + len(page.rejected) < self.sizes.page_records:
                continue
            self._turn(page, pages, chunk)
            page = Decoded()
            if sum(map(len, pages)) + len(chunk.rejected) >= self.sizes.chunk_records:
                yield self._joined(pages, chunk)
                chunk, pages = Chunk(), []
        self._turn(page, pages, chunk)
        yield self._joined(pages, chunk)

    def _joined(self, pages: list[Records], chunk: Chunk) -> Chunk:
        chunk.records = joined(pages) if pages else None
        chunk.rejected.sort(key=lambda rejected: rejected.position)
        return chunk

    def _turn(self, page: Decoded, pages: list[Records], chunk: Chunk) -> None:
        """A page of decoded records into columns."""
        chunk.bytes += page.bytes
        chunk.rejected += page.rejected
        if page.structs:
            records = self._records(page.structs, np.array(page.positions, dtype=np.int64), chunk.rejected)
            if records is not None:
                pages.append(records)

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
