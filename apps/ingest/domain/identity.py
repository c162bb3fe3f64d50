"""Ids of the sources, as fixed-width hashes: 64 bits to join by, 128 bits to know a record again."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_digest, xxh3_64_intdigest, xxh3_128_digest

NO_KEY = -(2**63)
"""Stands for "no such id" in a column of keys. A text that hashed to it would count as missing: one in 2^64."""

SEPARATOR = "\x00"
"""Between the parts of an identity. No id may contain it, so parts cannot run into each other."""

Keys = npt.NDArray[np.int64]


def key64(text: str) -> int:
    """The id `text` as a signed 64-bit integer (XXH3)."""
    unsigned = xxh3_64_intdigest(text)
    return unsigned - 2**64 if unsigned >= 2**63 else unsigned


_EMPTY = key64("")


def keys64(texts: Sequence[str | None]) -> Keys:
    """`key64` of each text, shape (n,); missing and empty ids become NO_KEY."""
    if not any(texts):
        return np.full(len(texts), NO_KEY, dtype=np.int64)
    try:
        digests = b"".join(map(xxh3_64_digest, texts))  # type: ignore[arg-type]
    except TypeError:
        digests = b"".join([xxh3_64_digest(text or "") for text in texts])
    keys = np.frombuffer(digests, dtype=">i8").astype(np.int64)
    keys[keys == _EMPTY] = NO_KEY
    return keys


def secret_keys64(texts: Sequence[str | None], secret: bytes) -> Keys:
    """Keyed 64-bit hashes (BLAKE2b) of people's ids, which nobody without the secret can try out; else as `keys64`."""
    keys = np.full(len(texts), NO_KEY, dtype=np.int64)
    if not any(texts):
        return keys
    known: dict[str, int] = {}
    for i, text in enumerate(texts):
        if text:
            if text not in known:
                digest = blake2b(text.encode(), digest_size=8, key=secret[:64]).digest()
                known[text] = int.from_bytes(digest, "big", signed=True)
            keys[i] = known[text]
    return keys


def identity128(*parts: object) -> bytes:
    """The 16-byte identity of a record whose source names it by these parts, in this order (XXH3)."""
    return xxh3_128_digest(SEPARATOR.join(str(part) for part in parts))


def identities128(prefix: str, columns: Sequence[Keys]) -> npt.NDArray[np.void]:
    """Identities of records from whole columns, shape (n,), dtype V16: two chains of MurmurHash3 finalisers.

    `prefix` seeds both; `columns` are hashed ids and plain numbers, in an order that is part of the identity. Records
    that differ in one column never share an identity by its first half alone, since each step is a bijection of it.
    """
    seeds = np.frombuffer(xxh3_128_digest(prefix), dtype=">u8").astype(np.uint64)
    halves = np.empty((len(columns[0]), 2), dtype=">u8")
    for place, (first, second) in enumerate(_MULTIPLIERS):
        state = np.full(len(columns[0]), seeds[place], dtype=np.uint64)
        for column in columns:
            state ^= column.view(np.uint64)
            state ^= state >> np.uint64(33)
            state *= first
            state ^= state >> np.uint64(33)
            state *= second
            state ^= state >> np.uint64(33)
        halves[:, place] = state
    return halves.view("V16").reshape(-1)


_MULTIPLIERS = (
    # MurmurHash3 fmix64, and Stafford's variant 13 of it.
    (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)),
    (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)),
)
