"""Turns the attempts of one client request (a call) into their order: the first, why the others, and the last.

Gateways retry and fall back inside one call. The success that ends such a call may carry the start of the whole call,
which is at or before that of its first attempt, so attempts are ordered by their end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from apps.core.vocabulary import Work
from apps.rollups.domain.attempts import NO_KEY, NO_TIME, Attempts, Bools, Int8, Int64, Rows

LINK_GAP_US = 300_000_000
"""How long after a failed attempt the next one of its call may start, to be recognised in another hour."""

MOST_LINKED = 100
"""Attempts of one call near an hour's edge; clients can set ids, and some set the same one every time."""

HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True, eq=False)
class CallOrder:
    """Of each attempt, shape (n,): its place in its call. An attempt without a call is a call of its own."""

    first: Bools
    last: Bools
    work: Int8
    """FIRST, RETRY (same model as the call's first attempt) or FALLBACK; what clients try again is not in it."""
    served_from_us: Int64
    """The start; but the end of the attempt before, where an attempt carries the start of the whole call."""

    def take(self, rows: Bools) -> CallOrder:
        """These rows only."""
        return CallOrder(self.first[rows], self.last[rows], self.work[rows], self.served_from_us[rows])


def order_calls(attempts: Attempts) -> CallOrder:
    """The place of each attempt in its call, as far as the call's attempts are among `attempts`."""
    count = len(attempts)
    order = CallOrder(
        np.ones(count, dtype=np.bool_),
        np.ones(count, dtype=np.bool_),
        np.full(count, Work.FIRST, dtype=np.int8),
        attempts.started_us.copy(),
    )
    rows = _of_several(attempts.call_key)
    if len(rows) == 0:
        return order
    rows = attempts.sorted_by(rows, (attempts.call_key[rows], attempts.closed_us[rows], attempts.started_us[rows]))
    call, model, start = attempts.call_key[rows], attempts.model[rows], attempts.started_us[rows]
    opens = np.append(True, call[1:] != call[:-1])
    first = np.maximum.accumulate(np.where(opens, np.arange(len(rows)), 0))
    order.first[rows] = opens
    order.last[rows] = np.append(opens[1:], True)
    order.work[rows] = np.where(opens, Work.FIRST, np.where(model == model[first], Work.RETRY, Work.FALLBACK))
    end_before = np.append(NO_TIME, attempts.closed_us[rows][:-1])
    # The inherited start is the call's own, a few milliseconds before the first attempt was sent.
    inherited = ~opens & (start <= start[first])
    order.served_from_us[rows] = np.where(inherited, np.maximum(start, end_before), start)
    return order


def _of_several(call_key: Int64) -> Rows:
    """Rows whose call has more than one attempt."""
    order = np.argsort(call_key)
    keys = call_key[order]
    same = keys[1:] == keys[:-1]
    several = np.append(False, same) | np.append(same, False)
    return order[several & (keys != NO_KEY)] if len(keys) else order


def linked(earlier: Attempts, later: Attempts) -> tuple[Bools, Bools, dict[tuple[int, int], int]]:
    """Which attempts of two sets belong to each other: one of `later` follows a failed one of `earlier` in its call.

    Answers the rows of `earlier` and of `later` that are in such a pair, and for each pair of hours (starts, µs) a
    checksum of their pairs: both hours must have been folded with the same one.
    """
    in_earlier, in_later = np.zeros(len(earlier), dtype=np.bool_), np.zeros(len(later), dtype=np.bool_)
    if len(earlier) == 0 or len(later) == 0:
        return in_earlier, in_later, {}
    failed = np.flatnonzero(~earlier.ok & _names_a_call(earlier) & np.isin(earlier.call_key, later.call_key))
    candidates = np.flatnonzero(_names_a_call(later) & np.isin(later.call_key, earlier.call_key[failed]))
    by_call: defaultdict[int, list[int]] = defaultdict(list)
    for row in candidates.tolist():
        by_call[int(later.call_key[row])].append(row)
    pairs: defaultdict[tuple[int, int], list[tuple[int, ...]]] = defaultdict(list)
    for row in failed.tolist():
        start, end = int(earlier.started_us[row]), int(earlier.closed_us[row])
        for other in by_call.get(int(earlier.call_key[row]), ()):
            next_start, next_end = int(later.started_us[other]), int(later.closed_us[other])
            hours = (start // HOUR_US * HOUR_US, next_start // HOUR_US * HOUR_US)
            if hours[0] > hours[1] or next_start > end + LINK_GAP_US:
                continue
            in_earlier[row] = in_later[other] = True
            if hours[0] < hours[1]:
                pairs[hours].append((start, end, next_start, next_end, int(earlier.call_key[row])))
    return in_earlier, in_later, {hours: _checksum(found) for hours, found in pairs.items()}


def _names_a_call(attempts: Attempts) -> Bools:
    """False without an id, and for one that names so many attempts that it cannot be a call's."""
    _, place, counts = np.unique(attempts.call_key, return_inverse=True, return_counts=True)
    few: Bools = (attempts.call_key != NO_KEY) & (counts[place] <= MOST_LINKED)
    return few


def _checksum(pairs: list[tuple[int, ...]]) -> int:
    return crc32(repr(sorted(pairs)).encode())
