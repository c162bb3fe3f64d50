"""Hashes of ids: what is the same stays the same, what differs in any part differs."""

from __future__ import annotations

import numpy as np
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.domain.identity import NO_KEY, identities128, key64, keys64, secret_keys64


@given(st.lists(st.one_of(st.none(), st.text()), max_size=20))
def test_a_column_is_hashed_as_each_text_is(texts: list[str | None]) -> None:
    assert keys64(texts).tolist() == [key64(text) if text else NO_KEY for text in texts]


def test_keys_are_signed_xxh3() -> None:
    assert key64("task-1") == int.from_bytes(xxhash.xxh3_64_digest("task-1"), "big", signed=True)


def test_identities_differ_when_any_column_or_the_prefix_does() -> None:
    numbers = np.arange(60_000, dtype=np.int64)
    constant = np.full(60_000, 7, dtype=np.int64)
    swapped = [
        identities128("a", [numbers, constant]),
        identities128("a", [constant, numbers]),
        identities128("b", [numbers, constant]),
        identities128("a", [numbers, constant + 1]),
    ]
    every = np.concatenate(swapped).view(">u8").reshape(-1, 2)
    # (7, 7) and (7, 8) come in two of the four; each half alone tells all others apart.
    assert len(np.unique(every[:, 0])) == len(np.unique(every[:, 1])) == 4 * 60_000 - 2


def test_identities_spread_over_all_bits() -> None:
    identity = identities128("a", [np.arange(10_000, dtype=np.int64)])
    bits = np.unpackbits(identity.view(np.uint8).reshape(-1, 16), axis=1)
    assert (abs(bits.mean(axis=0) - 0.5) < 0.03).all()
    assert len(set(identity.tolist())) == 10_000


def test_one_identity_is_pinned_so_that_no_release_stores_old_records_again() -> None:
    columns = [np.array([value], dtype=np.int64) for value in (1, -1, NO_KEY)]
    assert identities128("litellm\0key", columns)[0].tobytes().hex() == PINNED


PINNED = "c6e80dea4ac12b27657060f2faf42dc8"
"""Reckoned apart, with plain integers."""


def test_people_are_told_apart_only_with_the_secret() -> None:
    one, other = secret_keys64(["ada", None, "ada"], b"a"), secret_keys64(["ada", "bob", ""], b"b")
    assert one[0] == one[2] and one[1] == other[2] == NO_KEY
    assert one[0] not in (other[0], key64("ada"))
