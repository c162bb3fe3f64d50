"""Pieces of a body turned into valid records and explained rejections, through one source's codec."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol

import msgspec
import numpy as np

from apps.core.errors import Problem
from apps.ingest.domain.identity import NO_KEY, identities128, keys64, secret_keys64
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.objects import Unreadable, parse
from apps.ingest.domain.records import KEYS, Floats, Ints, Mask, Readings, Records, Rejected, joined
from apps.ingest.domain.splitting import Bytes, Piece, Stopped, elements_of, pieces
from apps.ingest.domain.strict import PossibleRepeat, Refused
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
    """One request source: beside decoding, its records by column, and what else can be wrong with one of them.

    With CHECKS_TEXT, `readings` is given the text of the records too, and may raise PossibleRepeat about it.
    """

    CHECKS_TEXT: bool
    SPOKEN: Spoken

    def readings(self, structs: list[Any], raw: Bytes | None) -> Readings: ...

    def more_problems(self, struct: Any) -> list[Problem]: ...

    def kept_struct(self, struct: Any) -> str: ...


FAST_FAILURES = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)


@dataclass(slots=True)
class Decoded:
    """Records that were decoded, their places in the body, and the places that hold none. `bytes` is what was read;
    `raw` is the text, if the records were decoded the fast way, and `first` its place.
    """

    structs: list[Any] = field(default_factory=list)
    positions: array[int] = field(default_factory=lambda: array("q"))
    rejected: list[Rejected] = field(default_factory=list)
    bytes: int = 0
    raw: Bytes | None = None
    first: int = 0

    def add(self, other: Decoded) -> None:
        self.structs.extend(other.structs)
        self.positions.extend(other.positions)
        self.rejected.extend(other.rejected)
        self.bytes += other.bytes


class Patience:
    """What one body may still cost that holds little to store."""

    def __init__(self, sizes: Sizes) -> None:
        self.records = sizes.wrong_records
        self.bytes = sizes.wrong_bytes

    def spend(self, records: int, size: int = 0) -> None:
        self.records -= records
        self.bytes -= size

    @property
    def ended(self) -> bool:
        return self.records < 0 or self.bytes < 0


class Decoding:
    """One body through one codec, piece by piece."""

    def __init__(self, codec: Codec, sizes: Sizes, patience: Patience | None = None) -> None:
        self.patience = patience or Patience(sizes)
        self.stopped: Stopped | None = None
        self._codec = codec
        self._sizes = sizes
        self._position = 0
        self._array: list[Any] = []

    def parts(self, blocks: Iterable[Bytes]) -> Iterator[Decoded]:
        """All of the body, or up to where it is `stopped`. Raises InvalidInput for a body that is bad as such."""
        try:
            for piece in pieces(blocks, self._sizes, self._is_array):
                yield self._decoded(piece)
                if self.patience.ended:
                    raise Stopped(Problem("too_many_rejected", "too many of its records are wrong or hard to read"))
        except Stopped as stopped:
            self.stopped = stopped

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
            self.patience.spend(1)
            self._position += 1
            return Decoded(rejected=[rejected])
        if piece.shape == "array":
            structs, self._array = self._array, []
        else:
            try:
                structs = self._codec.read_lines(piece.data)
            except FAST_FAILURES:
                return self._one_by_one(bytes(piece.data))
        first, self._position = self._position, self._position + len(structs)
        places: Sequence[int] = range(first, self._position)
        if None in structs:
            self.patience.spend(structs.count(None))
            kept = [(struct, place) for struct, place in zip(structs, places, strict=True) if struct is not None]
            structs, places = [struct for struct, _ in kept], [place for _, place in kept]
        return Decoded(structs, array("q", places), [], len(piece.data), piece.data, first)

    def again(self, part: Decoded) -> Decoded:
        """The part's text record by record, since something is wrong with it that decoding does not see."""
        raw, position = bytes(part.raw or b""), self._position
        self._position = part.first
        out = Decoded()
        texts = [one.data for one in elements_of(raw)] if raw.startswith(b"[") else [raw]
        for text in texts:
            out.add(self._one_by_one(bytes(text)))
        self._position, out.bytes = position, part.bytes
        return out

    def _one_by_one(self, data: bytes) -> Decoded:
        out = Decoded(bytes=len(data))
        for raw in _texts(data):
            if self.patience.ended:
                break
            try:
                struct = self._codec.read_one(raw)
            except Refused as refused:
                found = tuple(replace(problem, record=self._position) for problem in refused.problems)
                out.rejected.append(Rejected(self._position, refused.payload, found))
                self.patience.spend(1, len(raw))
            else:
                self.patience.spend(struct is None, len(raw) // 4)
                if struct is not None:
                    out.structs.append(struct)
                    out.positions.append(self._position)
            self._position += 1
        return out


_LINE = re.compile(rb"[^ \t\r\n][^\n]*")


def _texts(data: bytes) -> Iterator[bytes]:
    """The whole as one value over several lines, or its lines that say something."""
    lines = _LINE.finditer(data)
    first, second = next(lines, None), next(lines, None)
    if first and second and _is_one_value(data):
        yield data
        return
    yield from (found[0] for found in chain(filter(None, (first, second)), lines))


def _is_one_value(data: bytes) -> bool:
    """Whether the text is one JSON value over several lines, not a record a line."""
    try:
        parse(data)
    except Unreadable:
        return False
    return True


@dataclass(slots=True)
class Chunk:
    """Records that become durable together. `bytes` counts the plain bytes that were read; the `last` may be empty.

    `stopped` is why nothing behind the last chunk was read, where there is more.
    """

    patience: Patience
    records: Records | None = None
    rejected: list[Rejected] = field(default_factory=list)
    bytes: int = 0
    last: bool = False
    stopped: Stopped | None = None


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
        decoding = Decoding(self.codec, self.sizes)
        chunk, pages, page = Chunk(decoding.patience), list[Records](), Decoded()
        for part in decoding.parts(blocks):
            if self.codec.CHECKS_TEXT:
                try:
                    self._turn(part, part.raw, pages, chunk)
                except PossibleRepeat:
                    self._turn(decoding.again(part), None, pages, chunk)
            else:
                page.add(part)
                if len(page.structs) + len(page.rejected) >= self.sizes.page_records:
                    self._turn(page, None, pages, chunk)
                    page = Decoded()
            if sum(map(len, pages)) + len(chunk.rejected) >= self.sizes.chunk_records:
                yield self._joined(pages, chunk)
                chunk, pages = Chunk(decoding.patience), []
        self._turn(page, None, pages, chunk)
        chunk.last, chunk.stopped = True, decoding.stopped
        yield self._joined(pages, chunk)

    def _joined(self, pages: list[Records], chunk: Chunk) -> Chunk:
        chunk.records = joined(pages) if pages else None
        chunk.rejected.sort(key=lambda rejected: rejected.position)
        return chunk

    def _turn(self, page: Decoded, raw: Bytes | None, pages: list[Records], chunk: Chunk) -> None:
        """A page of decoded records into columns."""
        if page.structs:
            positions = np.array(page.positions, dtype=np.int64)
            records = self._records(page.structs, positions, raw, chunk)
            if records is not None:
                pages.append(records)
        chunk.bytes += page.bytes
        chunk.rejected += page.rejected

    def _records(self, structs: list[Any], positions: Ints, raw: Bytes | None, chunk: Chunk) -> Records | None:
        readings = self.codec.readings(structs, raw)
        bad = faults(readings, self.now_us)
        if bad.any():
            return self._without_bad(structs, positions, readings, bad, chunk)
        hashed = {id(column): keys64(column) for column in (*readings.names, *readings.ids[:-1])}
        keys = {name: hashed[id(column)] for name, column in zip(KEYS, readings.ids[:-1], strict=False)}
        keys["end_user_key"] = secret_keys64(readings.ids[-1], self.user_secret)
        known_by = [_whole(column) for column in readings.name_numbers]
        started = readings.numbers["started_us"].astype(np.int64)
        named = dict(zip(keys["task_key"].tolist(), readings.ids[KEYS.index("task_key")], strict=True))
        named.pop(NO_KEY, None)
        return Records(
            positions,
            identities128(self.prefix, [*(hashed[id(column)] for column in readings.names), *known_by, started]),
            keys,
            readings.numbers,
            readings.charge_picos,
            readings.label,
            readings.labels,
            {key: text for key, text in named.items() if text},
        )

    def _without_bad(
        self, structs: list[Any], positions: Ints, readings: Readings, bad: Mask, chunk: Chunk
    ) -> Records | None:
        """Explain the bad records and read the others again; nothing behind the bad one at which patience ends."""
        places = np.nonzero(bad)[0]
        left = max(chunk.patience.records, 0)
        if len(places) > left:
            bad = bad[: places[left] + 1]
            places, positions = places[: left + 1], positions[: len(bad)]
        chunk.patience.spend(len(places))
        for i in places.tolist():
            found = problems(readings, i, self.now_us, self.codec.SPOKEN) + self.codec.more_problems(structs[i])
            told = found or [Problem("invalid", "the record was not understood")]
            place = int(positions[i])
            chunk.rejected.append(
                Rejected(
                    place, self.codec.kept_struct(structs[i]), tuple(replace(problem, record=place) for problem in told)
                )
            )
        good = np.nonzero(~bad)[0]
        if not len(good):
            return None
        return self._records([structs[i] for i in good.tolist()], positions[good], None, chunk)


def _whole(column: Floats | Ints) -> Ints:
    """The column as integers, -1 for what is not known."""
    return np.nan_to_num(column, nan=-1).astype(np.int64)
