"""What a sender is told of a delivery, and who the sender is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from apps.core.errors import Problem

Result = Literal["stored", "duplicate", "rejected"]


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Who sends. `kind` is a request source, `auto` (sniffed), or `outcomes`; `scope` the prefix of the API key.

    Kind and scope are part of every record's identity, the name is not: the same file under another name is the same.
    """

    name: str
    kind: str = "auto"
    scope: str = ""


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """What became of the record at this 0-based place; `problems` say why it was rejected."""

    record: int
    result: Result
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What became of a delivery. When this is handed out, everything `stored` is on disk."""

    batch_id: int
    stored: int
    duplicate: int
    rejected: int
    results: list[RecordAnswer] = field(default_factory=list)
