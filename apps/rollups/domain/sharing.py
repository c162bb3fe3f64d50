"""Turns the times of requests into their shares of the time in which a replica was busy (tier A).

At every instant the cost is divided equally among the requests then running, which is the exact Shapley value of the
game in which a set of requests is worth the length of the union of its intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

UNITS_PER_US = 232_792_560
"""Shares are counted in 1/232792560 µs. That is lcm(1..22): up to 22 requests at once divide a microsecond exactly.

Above that each request loses under one unit (4e-9 µs) a segment. An hour is 8.4e17 units, which a bigint holds.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """`units` of each interval, shape (n,), and `busy_us` of each lane: the length of the union of its intervals."""

    units: Int64
    busy_us: Int64


def share(lane: Int64, start_us: Int64, end_us: Int64, lanes: int) -> Shared:
    """Divide the busy time of each lane (replica: 0, 1, ... `lanes` - 1) among its intervals [start, end).

    Arrays of shape (n,). Starts must be >= 0 and the busy time of a lane at most one hour. An interval that is empty
    has no share. O(n log n); the order of the intervals does not matter.
    """
    count = len(start_us)
    if count == 0:
        return Shared(np.zeros(0, dtype=np.int64), np.zeros(lanes, dtype=np.int64))
    # Laid end to end, lanes can be swept as one.
    offset = lane * (int(end_us.max()) + 1)
    moments = np.concatenate([start_us + offset, end_us + offset])
    order = np.argsort(moments)
    running = np.cumsum(np.where(order < count, 1, -1))[:-1]
    # Between two equal moments `running` may pass through any value, but that segment is empty.
    segment = np.where(running > 0, np.diff(moments[order]), 0)
    # Over many lanes the running total may wrap around; differences within a lane are right all the same.
    at_moment = np.empty(2 * count, dtype=np.int64)
    at_moment[order[0]] = 0
    at_moment[order[1:]] = np.cumsum(segment * UNITS_PER_US // np.maximum(running, 1))
    opened_by = order[:-1] % count
    busy = np.bincount(lane[opened_by], weights=segment, minlength=lanes)  # exact: far below 2^53
    return Shared(at_moment[count:] - at_moment[:count], busy.astype(np.int64))
