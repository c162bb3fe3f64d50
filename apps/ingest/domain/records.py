"""The canonical request record, by column: what every request source reads into, and what the writer stores."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from apps.core.errors import Problem
from apps.ingest.domain.identity import Keys

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Texts = Sequence[str | None]

LABELS = (
    "team",
    "endpoint",
    "key_alias",
    "key_hash",
    "model_requested",
    "model_served",
    "backend",
    "replica",
    "region",
    "provider",
    "charge_currency",
)
"""Columns of a label set, in order."""

KEYS = ("call_key", "trace_key", "span_key", "parent_key", "session_key", "task_key", "end_user_key")
"""Hashed ids, in the table's order; `identity.NO_KEY` where there is none."""

NUMBERS = (
    "started_us",
    "ended_us",
    "first_token_us",
    "queue_us",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "http_status",
    "attempt",
    "step",
    "status",
    "operation",
    "traffic",
    "token_source",
    "finish",
    "stream",
)
"""Whole numbers held as float64 so that NaN can mean "not known"; exact, since all are far below 2^53."""

Label = tuple[str | None, ...]
Row = TypeVar("Row", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Readings:
    """One page of a source's records, by column, all of length n.

    `names` and `name_numbers` are what a record is known again by, besides its start. `label` says which of `labels`
    (tuples in the order of LABELS) a record has. `ids` holds call, trace, span, parent, session, task and end user,
    in the order of KEYS. `charge_picos` is 10^-12 of the charge's currency, -1 where there is none. `faults` are
    indices of records that the source found wrong beyond what `validation` looks at.
    """

    names: Sequence[Texts]
    name_numbers: Sequence[Floats | Ints]
    ids: Sequence[Texts]
    label: Ints
    labels: list[Label]
    numbers: dict[str, Floats]
    charge_picos: Ints
    faults: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True, slots=True)
class Records:
    """Valid records by column, ready for the writer: `label` indexes `labels`, `positions` are places in the batch."""

    positions: Ints
    identity: npt.NDArray[np.void]
    keys: dict[str, Keys]
    numbers: dict[str, Floats]
    charge_picos: Ints
    label: Ints
    labels: list[Label]
    task_names: dict[int, str]

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, keep: Mask | Ints) -> Records:
        """The records that the mask or the indices select."""
        return Records(
            self.positions[keep],
            self.identity[keep],
            {name: column[keep] for name, column in self.keys.items()},
            {name: column[keep] for name, column in self.numbers.items()},
            self.charge_picos[keep],
            self.label[keep],
            self.labels,
            self.task_names,
        )


def joined(pages: Sequence[Records]) -> Records:
    """Several pages as one."""
    if len(pages) == 1:
        return pages[0]
    numbering: dict[Label, int] = {}
    label_columns = []
    task_names: dict[int, str] = {}
    for page in pages:
        renumbered = np.array([numbering.setdefault(label, len(numbering)) for label in page.labels], dtype=np.int64)
        label_columns.append(renumbered[page.label])
        task_names.update(page.task_names)
    return Records(
        np.concatenate([page.positions for page in pages]),
        np.concatenate([page.identity for page in pages]),
        {name: np.concatenate([page.keys[name] for page in pages]) for name in KEYS},
        {name: np.concatenate([page.numbers[name] for page in pages]) for name in NUMBERS},
        np.concatenate([page.charge_picos for page in pages]),
        np.concatenate(label_columns),
        list(numbering),
        task_names,
    )


def without_repeats(records: Records) -> tuple[Records, Ints]:
    """The records without those whose identity came before, and the positions of the ones left out."""
    halves = records.identity.view(">u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    ordered = halves[order]
    repeated = np.zeros(len(records), dtype=np.bool_)
    if len(records) > 1:
        repeated[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    if not repeated.any():
        return records, np.empty(0, dtype=np.int64)
    return records.take(~repeated), records.positions[repeated]


def numbered(rows: Iterable[Row]) -> tuple[Ints, list[Row]]:
    """The distinct rows in order of appearance, and for each row given which of them it is."""
    numbering: dict[Row, int] = {}
    numbers = [numbering.setdefault(row, len(numbering)) for row in rows]
    return np.array(numbers, dtype=np.int64), list(numbering)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be stored: where it was, what of it may be kept, and everything that is wrong with it."""

    position: int
    payload: str
    problems: tuple[Problem, ...]
