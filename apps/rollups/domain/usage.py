"""Turns the attempts of one hour into usage: counts, tokens, shares and latency histograms by all dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apps.core.histogram import bucket_indices, packed_groups
from apps.core.vocabulary import Status, StatusGroup
from apps.rollups.domain.attempts import NO_COUNT, NO_TIME, Attempts, Bools, Int8, Int32, Int64

COUNTS = (
    "attempts", "calls", "failed_calls", "ok", "client_error", "rate_limited", "server_error", "timeout", "aborted",
    "partial", "streamed", "without_tokens", "input_tokens", "cache_read_tokens", "cache_write_tokens",
    "output_tokens", "reasoning_tokens", "share_units",
)  # fmt: skip
HISTOGRAMS = ("ttft", "itl", "e2e", "queue")
DIMENSIONS = ("team_id", "endpoint_id", "model_id", "replica_id", "key_id", "work", "status_group", "traffic")

Floats = npt.NDArray[np.float64]

_SMALL = 8  # work, status group and traffic each fit
_DENSE = 50_000_000  # up to here a table of all codes is faster than a sort


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Combinations of dimensions: `of_attempt` is the row of each attempt in `dimensions`, shape (g, 8), ascending."""

    dimensions: Int64
    of_attempt: Int32

    def __len__(self) -> int:
        return len(self.dimensions)


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """`counts` by the names in COUNTS, each of shape (g,); `histograms` by those in HISTOGRAMS, packed, g of each."""

    dimensions: Int64
    counts: dict[str, Int64]
    histograms: dict[str, list[bytes]]


def compact(code: Int64) -> tuple[Int64, Int32]:
    """Distinct values of `code` (n,), which must be >= 0, ascending; and the place of each among them, (n,)."""
    if len(code) and int(code.max()) < _DENSE:
        used = np.zeros(int(code.max()) + 1, dtype=np.bool_)
        used[code] = True
        place = np.cumsum(used, dtype=np.int32) - 1
        return np.flatnonzero(used), place[code]
    codes, inverse = np.unique(code, return_inverse=True)
    return codes, inverse.astype(np.int32)


def group(attempts: Attempts, work: Int8) -> Groups:
    code = attempts.owner.astype(np.int64)
    for column in (work, attempts.status_group, attempts.traffic):
        code = code * _SMALL + column
    codes, place = compact(code)
    owner, small = np.divmod(codes, _SMALL**3)
    parts = [small // _SMALL**2, small // _SMALL % _SMALL, small % _SMALL]
    return Groups(np.column_stack([attempts.owners[owner], *parts]), place)


def usage_of(attempts: Attempts, groups: Groups, own: Bools, last: Bools, units: Int64) -> Usage:
    """`own`: attempts that started in the hour, to which all but the share `units` belongs; `last` of their call."""
    counts = _counts(attempts, groups, own, last)
    share = np.zeros(len(groups), dtype=np.int64)
    np.add.at(share, groups.of_attempt, units)
    counts["share_units"] = share
    return Usage(groups.dimensions, counts, _histograms(attempts, groups, own))


def _counts(attempts: Attempts, groups: Groups, own: Bools, last: Bools) -> dict[str, Int64]:
    def count(rows: Bools) -> Int64:
        return np.bincount(groups.of_attempt[rows], minlength=len(groups)).astype(np.int64)

    def total(tokens: Int32) -> Int64:
        rows = own & (tokens > 0)
        sums = np.bincount(groups.of_attempt[rows], weights=tokens[rows], minlength=len(groups))
        return sums.astype(np.int64)  # exact: far below 2^53

    by_status = np.bincount(
        groups.of_attempt[own] * len(Status) + attempts.status[own], minlength=len(groups) * len(Status)
    ).reshape(len(groups), len(Status))
    missing = (attempts.input_tokens == NO_COUNT) | (attempts.output_tokens == NO_COUNT)
    calls = own & last
    return {
        "attempts": by_status.sum(axis=1),
        "calls": count(calls),
        "failed_calls": count(calls & (attempts.status_group == StatusGroup.FAILED)),
        **{status.word: by_status[:, status] for status in Status},
        "streamed": count(own & (attempts.stream == 1)),
        "without_tokens": count(own & attempts.ok & missing),
        "input_tokens": total(attempts.input_tokens),
        "cache_read_tokens": total(attempts.cache_read_tokens),
        "cache_write_tokens": total(attempts.cache_write_tokens),
        "output_tokens": total(attempts.output_tokens),
        "reasoning_tokens": total(attempts.reasoning_tokens),
    }


def _histograms(attempts: Attempts, groups: Groups, own: Bools) -> dict[str, list[bytes]]:
    timed = own & attempts.ok & (attempts.ended_us != NO_TIME)
    e2e = attempts.ended_us - attempts.started_us
    streamed = own & attempts.ok & (attempts.stream == 1) & (attempts.first_token_us != NO_TIME)
    ttft = attempts.first_token_us - attempts.started_us
    several = streamed & timed & (attempts.output_tokens > 1)
    itl = (e2e - ttft)[several] / (attempts.output_tokens[several] - 1)
    queued = own & (attempts.queue_us != NO_COUNT)
    return {
        "ttft": _packed(groups, streamed, ttft[streamed]),
        "itl": _packed(groups, several, itl),
        "e2e": _packed(groups, timed, e2e[timed]),
        "queue": _packed(groups, queued, attempts.queue_us[queued]),
    }


def _packed(groups: Groups, rows: Bools, microseconds: Int64 | Floats) -> list[bytes]:
    return packed_groups(groups.of_attempt[rows], bucket_indices(microseconds / 1e6), len(groups))
