"""Turns the times of requests into their shares of the time in which a replica was busy (tier A).

At every instant the cost is divided equally among the requests then running, which is the exact Shapley value of the
game in which a set of requests is worth the length of the union of its intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

UNITS_PER_US = 232_792_560
"""Shares are counted in 1/232792560 µs. That is lcm(1..22): up to 22 requests at once divide a microsecond exactly.

Above that each request loses under one unit (4e-9 µs) a segment. An hour is 8.4e17 units, which a bigint holds.
"""


_INDEX_BITS = 31


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """`units` of each interval, shape (n,), and `busy_us` of each lane: the length of the union of its intervals."""

    units: Int64
    busy_us: Int64


def share(lane: Int64 | Int32, start_us: Int64, end_us: Int64, lanes: int) -> Shared:
    """Divide the busy time of each lane (replica: 0, 1, ... `lanes` - 1) among its intervals [start, end).

    Arrays of shape (n,); moments must lie in [0, 2^32), which is over an hour. An interval that is empty has no share.
    O(n log n); the order of the intervals does not matter.
    """
    units = np.zeros(len(lane), dtype=np.int64)
    busy = np.zeros(lanes, dtype=np.int64)
    by_lane = np.argsort(lane, kind="stable")
    edges = np.searchsorted(lane[by_lane], np.arange(lanes + 1))
    for number, (begin, end) in enumerate(pairwise(edges.tolist())):
        rows = by_lane[begin:end]
        if len(rows):
            units[rows], busy[number] = _share_one(start_us[rows], end_us[rows])
    return Shared(units, busy)


def _share_one(start_us: Int64, end_us: Int64) -> tuple[Int64, int]:
    count = len(start_us)
    # A moment and the interval it belongs to in one number: sorting these is faster than sorting indices.
    keys = np.concatenate([start_us, end_us])
    keys <<= _INDEX_BITS
    keys |= np.arange(2 * count)
    keys.sort()
    order = keys & ((1 << _INDEX_BITS) - 1)
    moments = keys >> _INDEX_BITS
    running = np.cumsum(np.where(order < count, 1, -1))[:-1]
    # Between two equal moments `running` may pass through any value, but that segment is empty.
    segment = np.diff(moments)
    segment[running < 1] = 0
    busy = int(segment.sum())
    segment *= UNITS_PER_US
    segment //= np.maximum(running, 1)
    at_moment = np.empty(2 * count, dtype=np.int64)
    at_moment[order[0]] = 0
    at_moment[order[1:]] = np.cumsum(segment)
    return at_moment[count:] - at_moment[:count], busy
