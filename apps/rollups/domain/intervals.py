"""Sets of disjoint spans of time, as arrays of shape (n, 2) in whole microseconds: union, intersection, difference."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Spans = npt.NDArray[np.int64]

NOTHING: Spans = np.zeros((0, 2), dtype=np.int64)


def spans(pairs: Iterable[tuple[int, int]]) -> Spans:
    """The union of half-open [start, end) pairs; empty ones vanish."""
    return union(np.array(list(pairs), dtype=np.int64).reshape(-1, 2))


def union(pairs: Spans) -> Spans:
    """The same time as disjoint spans that do not touch, by start."""
    pairs = pairs[pairs[:, 1] > pairs[:, 0]]
    if len(pairs) == 0:
        return NOTHING
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    reached = np.maximum.accumulate(pairs[:, 1])
    opens = np.append(True, pairs[1:, 0] > reached[:-1])
    closes = np.append(opens[1:], True)
    return np.stack([pairs[opens, 0], reached[closes]], axis=1)


def intersection(left: Spans, right: Spans) -> Spans:
    """Time that is in both; each must be a union."""
    return difference(left, difference(left, right))


def difference(left: Spans, right: Spans) -> Spans:
    """Time that is in `left` and not in `right`; each must be a union."""
    if len(left) == 0 or len(right) == 0:
        return left
    low, high = left[0, 0], left[-1, 1]
    gaps = np.stack([np.append(low, right[:, 1]), np.append(right[:, 0], high)], axis=1)
    gaps = gaps[gaps[:, 1] > gaps[:, 0]]
    pieces = [
        np.stack([np.maximum(gaps[:, 0], start), np.minimum(gaps[:, 1], end)], axis=1) for start, end in left.tolist()
    ]
    return union(np.concatenate(pieces)) if pieces else NOTHING


def length(pieces: Spans) -> int:
    """Microseconds covered by disjoint spans."""
    return int((pieces[:, 1] - pieces[:, 0]).sum())
