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


def identities128(texts: Sequence[str]) -> npt.NDArray[np.void]:
    """Identities of joined parts, shape (n,), dtype V16."""
    return np.frombuffer(b"".join(map(xxh3_128_digest, texts)), dtype="V16")
