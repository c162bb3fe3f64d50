"""Bodies off the wire: packed, cut off, damaged, or larger than they look."""

from __future__ import annotations

import gzip

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.ingest.domain.bodies import decompressed, sniffed_encoding

PLAIN = b'{"id": 1}\n' * 5_000
PACKED = {"identity": PLAIN, "gzip": gzip.compress(PLAIN), "zstd": zstandard.compress(PLAIN)}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("step", [1, 1000, 10**6])
def test_a_body_is_unpacked_however_it_arrives(encoding: str, step: int) -> None:
    packed = PACKED[encoding]
    blocks = [packed[i : i + step] for i in range(0, len(packed), step)]
    assert b"".join(decompressed(blocks, encoding)) == PLAIN
    assert sniffed_encoding(packed[:4]) == encoding


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_two_members_in_a_row_are_one_body(encoding: str) -> None:
    assert b"".join(decompressed([PACKED[encoding] * 2], encoding)) == PLAIN * 2


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [3, 20, -1])
def test_a_body_that_is_cut_off_is_refused(encoding: str, kept: int) -> None:
    with pytest.raises(InvalidInput, match="cut off"):
        list(decompressed([PACKED[encoding][:kept]], encoding))


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_that_is_not_packed_as_it_says_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidInput, match=f"not valid {encoding}"):
        list(decompressed([PLAIN], encoding))


def test_an_encoding_that_is_not_spoken_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use identity, gzip, zstd"):
        decompressed([PLAIN], "br")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_stopped_at_the_limit(encoding: str) -> None:
    zeros = bytes(200 << 20)
    bomb = gzip.compress(zeros, 1) if encoding == "gzip" else zstandard.compress(zeros)
    taken = 0
    with pytest.raises(InvalidInput, match="more than 1,000,000 bytes") as caught:
        for block in decompressed([bomb], encoding, 1_000_000):
            taken += len(block)
    assert caught.value.problems[0].code == "too_large"
    assert taken <= 1_000_000


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["gzip", "zstd"]), st.integers(0, 60), st.binary(max_size=5))
def test_damage_is_refused_or_harmless(encoding: str, at: int, noise: bytes) -> None:
    packed = PACKED[encoding]
    try:
        list(decompressed([packed[:at] + noise + packed[at + len(noise) :]], encoding, 1 << 20))
    except InvalidInput as error:
        assert error.problems[0].code in ("bad_gzip", "bad_zstd", "too_large")
