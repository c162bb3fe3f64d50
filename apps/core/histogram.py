"""Geometric latency histograms: at most 0.5 % relative error per quantile, merged by addition, stored sparse.

A value v > 0 (seconds) falls in bucket i = ceil(log_g(v / UNIT)) with g = (1 + a) / (1 - a) and a = 0.005; every
value of bucket i lies within a of the bucket's midpoint 2 g^i / (g + 1), in units of UNIT (the DDSketch mapping:
Masson, Rim and Lee, VLDB 2019). Values up to UNIT, zero included, share bucket 0, which answers 0.
Quantiles are by nearest rank: the k-th smallest with k = ceil(q n), at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

RELATIVE_ERROR = 0.005
UNIT_SECONDS = 1e-6
MAX_BUCKET = 3500
"""Highest bucket index; about 1.6e9 seconds, so that nothing real is cut off."""

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_PACKED = np.dtype([("bucket", "<u2"), ("count", "<u4")])

Counts = npt.NDArray[np.int64]


def bucket_indices(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Bucket index of each value; shape (n,) to (n,). Values must be finite and >= 0."""
    scaled = np.maximum(seconds / UNIT_SECONDS, 1.0)
    # The tiny allowance keeps a value that sits exactly on a bucket's edge from floating into the next one.
    indices = np.ceil(np.log(scaled) / _LOG_GAMMA - 1e-9).astype(np.int64)
    return np.minimum(np.maximum(indices, 0), MAX_BUCKET)


def bucket_value(index: int) -> float:
    """The value in seconds that stands for bucket `index`."""
    if index <= 0:
        return 0.0
    return float(2 * _GAMMA**index / (_GAMMA + 1) * UNIT_SECONDS)


class Histogram:
    """Counts per bucket. What was read packed is unpacked when it is first looked at."""

    __slots__ = ("_counts", "_packed")

    def __init__(self, counts: Counts | None = None) -> None:
        self._counts: Counts | None = np.zeros(MAX_BUCKET + 1, dtype=np.int64) if counts is None else counts
        self._packed = b""

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Histogram:
        values = np.fromiter(seconds, dtype=np.float64)
        return cls(np.bincount(bucket_indices(values), minlength=MAX_BUCKET + 1).astype(np.int64))

    @classmethod
    def merged(cls, packed: Iterable[bytes | memoryview]) -> Histogram:
        """The sum of histograms in their packed form (see `pack`); they may also be joined end to end already."""
        histogram = cls.__new__(cls)
        histogram._counts, histogram._packed = None, b"".join(packed)
        return histogram

    @property
    def counts(self) -> Counts:
        """Dense: shape (MAX_BUCKET + 1,), int64."""
        if self._counts is None:
            pairs = np.frombuffer(self._packed, dtype=_PACKED)
            counts = np.bincount(pairs["bucket"], weights=pairs["count"], minlength=MAX_BUCKET + 1)
            self._counts, self._packed = counts.astype(np.int64), b""
        return self._counts

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and bool(np.array_equal(self.counts, other.counts))

    __hash__ = None  # type: ignore[assignment]

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def quantile(self, q: float) -> float | None:
        """The q-quantile in seconds by nearest rank, within RELATIVE_ERROR; None when empty.

        Raises ValueError unless 0 <= q <= 1.
        """
        if not 0 <= q <= 1:
            raise ValueError(f"quantile {q} is not between 0 and 1")
        cumulative = np.cumsum(self.counts)
        total = int(cumulative[-1])
        if total == 0:
            return None
        rank = max(1, math.ceil(q * total))
        return bucket_value(int(np.searchsorted(cumulative, rank)))

    def share_at_most(self, seconds: float) -> float | None:
        """Share of values <= `seconds` (to the bucket's edge); None when empty."""
        total = self.count
        if total == 0:
            return None
        edge = int(bucket_indices(np.array([seconds]))[0])
        return float(self.counts[: edge + 1].sum() / total)

    def pack(self) -> bytes:
        """Non-empty buckets as little-endian (uint16 bucket, uint32 count) pairs, by bucket."""
        (buckets,) = np.nonzero(self.counts)
        return pack_pairs(buckets, self.counts[buckets])


def pack_pairs(buckets: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> bytes:
    """The packed form of parallel arrays of bucket indices and counts (both shape (n,))."""
    pairs = np.empty(len(buckets), dtype=_PACKED)
    pairs["bucket"] = buckets
    pairs["count"] = counts
    return pairs.tobytes()


def packed_groups(groups: npt.NDArray[np.integer], buckets: npt.NDArray[np.int64], count: int) -> list[bytes]:
    """One packed histogram for each group 0 .. `count` - 1, from the group and the bucket of each value (both (n,))."""
    width = MAX_BUCKET + 1
    keys, counts = np.unique(groups.astype(np.int64) * width + buckets, return_counts=True)
    group, bucket = np.divmod(keys, width)
    packed = pack_pairs(bucket, counts)
    edges = np.searchsorted(group, np.arange(count + 1)) * _PACKED.itemsize
    return [packed[begin:end] for begin, end in pairwise(edges.tolist())]
