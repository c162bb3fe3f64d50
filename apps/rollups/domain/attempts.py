"""The attempts that touch one hour as columns, with their labels resolved: what folding starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from apps.core.vocabulary import STATUS_GROUP, Status, StatusGroup

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Int16 = npt.NDArray[np.int16]
Int8 = npt.NDArray[np.int8]

NO_TIME = NO_KEY = int(np.iinfo(np.int64).min)
NO_COUNT = -1

TEAM, ENDPOINT, MODEL, REPLICA, KEY = range(5)
"""Columns of `Attempts.owners`."""

_GROUP_OF_STATUS = np.zeros(max(Status) + 1, dtype=np.int8)
for _status, _group in STATUS_GROUP.items():
    _GROUP_OF_STATUS[_status] = _group


@dataclass(frozen=True, eq=False)
class Attempts:
    """Parallel columns of shape (n,), in any order. Times are µs since 1970; keys and counts may be missing."""

    started_us: Int64
    ended_us: Int64  # NO_TIME
    first_token_us: Int64  # NO_TIME
    call_key: Int64  # NO_KEY
    task_key: Int64  # NO_KEY
    queue_us: Int64  # NO_COUNT
    input_tokens: Int32  # NO_COUNT, as all tokens
    cache_read_tokens: Int32
    cache_write_tokens: Int32
    output_tokens: Int32
    reasoning_tokens: Int32
    attempt: Int16  # NO_COUNT
    status: Int8
    traffic: Int8
    stream: Int8  # 0 no, 1 yes, 2 unknown
    owner: Int32
    """Row of `owners`."""
    owners: Int64
    """Distinct (team, endpoint, model, replica, key) ids, ascending; shape (k, 5)."""

    def __len__(self) -> int:
        return len(self.started_us)

    @cached_property
    def closed_us(self) -> Int64:
        """The end, or the start where no end is known."""
        return np.where(self.ended_us == NO_TIME, self.started_us, self.ended_us)

    @cached_property
    def ok(self) -> Bools:
        ok: Bools = self.status == Status.OK
        return ok

    @cached_property
    def status_group(self) -> Int8:
        return _GROUP_OF_STATUS[self.status]

    @cached_property
    def admitted(self) -> Bools:
        """Not refused at the door, so that it may have used something."""
        admitted: Bools = self.status_group != StatusGroup.REJECTED
        return admitted

    @cached_property
    def model(self) -> Int64:
        return self.owners[:, MODEL][self.owner]

    @cached_property
    def replica(self) -> Int64:
        return self.owners[:, REPLICA][self.owner]

    def take(self, rows: Bools | Rows) -> Attempts:
        """These rows only."""
        columns = [getattr(self, field.name)[rows] for field in fields(self) if field.name != "owners"]
        return Attempts(*columns, owners=self.owners)  # type: ignore[misc]

    def sorted_by(self, rows: Rows, keys: Sequence[Int64]) -> Rows:
        """`rows` by `keys` (each of the shape of `rows`, first one first), ties by what the attempts are.

        Two attempts that even then are equal can stand for each other: nothing depends on the order of arrival.
        """
        columns = (self.owner, self.attempt, self.status, self.input_tokens, self.output_tokens, self.first_token_us)
        ties = [column[rows] for column in columns]
        return rows[np.lexsort((*reversed(ties), *reversed(keys)))]
