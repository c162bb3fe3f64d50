"""Bodies as they come over the wire or from a file, to plain bytes: gzip and zstd, streamed, with a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

import zstandard

from apps.core.errors import InvalidInput, Problem

BLOCK_BYTES = 1 << 20
ENCODINGS = ("identity", "gzip", "zstd")
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_STEP = 1 << 10
"""Bytes given to zstd at once: it unpacks all of what it gets, and a kilobyte of it can hold 32 MiB, not more."""


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def blocks_of(file: Readable, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The file's content, `size` bytes at a time."""
    while block := file.read(size):
        yield block


def sniffed_encoding(head: bytes) -> str:
    """The encoding that the first bytes of a body show."""
    if head.startswith(_GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD_MAGIC) else "identity"


def decompressed(blocks: Iterable[bytes], encoding: str = "", limit_bytes: int | None = None) -> Iterator[bytes]:
    """The plain bytes of a body, block by block.

    `encoding` is a Content-Encoding (empty: identity). Raises InvalidInput with code `bad_encoding` for an encoding
    not spoken here, `bad_gzip` or `bad_zstd` for a body that is damaged or cut off, `too_large` as soon as more than
    `limit_bytes` come out, however few went in.
    """
    name = encoding.strip().lower() or "identity"
    if name in ("gzip", "x-gzip"):
        plain = _gunzipped(blocks)
    elif name == "zstd":
        plain = _unzstd(blocks)
    elif name == "identity":
        plain = iter(blocks)
    else:
        raise InvalidInput(
            Problem("bad_encoding", f"Content-Encoding '{name[:40]}' is not understood: use {', '.join(ENCODINGS)}")
        )
    return plain if limit_bytes is None else _limited(plain, limit_bytes)


def _limited(blocks: Iterator[bytes], limit_bytes: int) -> Iterator[bytes]:
    total = 0
    for block in blocks:
        total += len(block)
        if total > limit_bytes:
            raise InvalidInput(
                Problem("too_large", f"the body unpacks to more than {limit_bytes:,} bytes: send smaller batches")
            )
        yield block


def _gunzipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits=31)
    fed = False
    for block in blocks:
        data = block
        while data:
            if decoder.eof:
                # Several members in a row are one stream; zero padding behind the last is allowed.
                data = data.lstrip(b"\0")
                if not data:
                    break
                decoder = zlib.decompressobj(wbits=31)
            fed = True
            try:
                plain = decoder.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                raise InvalidInput(Problem("bad_gzip", f"the body is not valid gzip: {error}")) from None
            if plain:
                yield plain
            data = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    while fed and not decoder.eof:
        plain = decoder.decompress(decoder.unconsumed_tail, BLOCK_BYTES)
        if not plain:
            raise InvalidInput(Problem("bad_gzip", "the gzip body is cut off: its end is missing"))
        yield plain


def _unzstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = None
    for block in blocks:
        for start in range(0, len(block), _ZSTD_STEP):
            data = block[start : start + _ZSTD_STEP]
            while data:
                if decoder is None or decoder.eof:
                    decoder = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
                try:
                    plain = decoder.decompress(data)
                except zstandard.ZstdError as error:
                    raise InvalidInput(Problem("bad_zstd", f"the body is not valid zstd: {error}")) from None
                data = decoder.unused_data if decoder.eof else b""
                if plain:
                    yield plain
    if decoder is not None and not decoder.eof:
        raise InvalidInput(Problem("bad_zstd", "the zstd body is cut off: its end is missing"))
