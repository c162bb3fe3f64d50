"""How much of what engines counted gateways have logged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.core.query import Filters
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.rollups.domain.facts import ReplicaHourRow
from apps.rollups.selectors.query import condition, rows


@dataclass(frozen=True, slots=True)
class Coverage:
    """Tokens of one replica in the hours in which its engine was seen; in all hours, where it never was."""

    replica_id: int
    logged_prompt_tokens: int
    counted_prompt_tokens: int | None
    logged_generation_tokens: int
    counted_generation_tokens: int | None

    @property
    def share(self) -> float | Unknown:
        """Logged / counted tokens, of prompts and answers together; over one: more was logged than the engine did."""
        if self.counted is None:
            return Unknown("the engine's counters are not seen")
        return self.logged / self.counted if self.counted else Unknown("the engine counted no tokens")

    @property
    def logged(self) -> int:
        return self.logged_prompt_tokens + self.logged_generation_tokens

    @property
    def counted(self) -> int | None:
        if self.counted_prompt_tokens is None or self.counted_generation_tokens is None:
            return None
        return self.counted_prompt_tokens + self.counted_generation_tokens


def covered(found: Sequence[Coverage]) -> float | Unknown:
    """Logged / counted tokens of all replicas together whose engines were seen."""
    seen = [(one.logged, one.counted) for one in found if one.counted is not None]
    counted = sum(count for _, count in seen)
    if not seen:
        return Unknown("no engine is measured")
    return sum(logged for logged, _ in seen) / counted if counted else Unknown("the engines counted no tokens")


def coverage_of(hours: Iterable[ReplicaHourRow]) -> list[Coverage]:
    """The same as `coverage` for whoever already holds the hours of the window."""
    sums: dict[int, list[int]] = {}
    unseen: dict[int, list[int]] = {}
    measured: set[int] = set()
    for hour in hours:
        have = sums.setdefault(hour.replica_id, [0, 0, 0, 0])
        if hour.counted_prompt_tokens is None or hour.counted_generation_tokens is None:
            blind = unseen.setdefault(hour.replica_id, [0, 0, 0, 0])
            blind[0] += hour.logged_prompt_tokens
            blind[2] += hour.logged_generation_tokens
            continue
        measured.add(hour.replica_id)
        parts = (
            hour.logged_prompt_tokens,
            hour.counted_prompt_tokens,
            hour.logged_generation_tokens,
            hour.counted_generation_tokens,
        )
        sums[hour.replica_id] = [total + part for total, part in zip(have, parts, strict=True)]
    sums |= {replica_id: blind for replica_id, blind in unseen.items() if replica_id not in measured}
    return [
        Coverage(
            replica_id,
            logged_prompt,
            counted_prompt if replica_id in measured else None,
            logged_generation,
            counted_generation if replica_id in measured else None,
        )
        for replica_id, (logged_prompt, counted_prompt, logged_generation, counted_generation) in sorted(sums.items())
    ]


_QUERY = """
SELECT replica_id,
    coalesce(sum(logged_prompt_tokens) FILTER (WHERE {seen}), sum(logged_prompt_tokens), 0)::bigint,
    sum(counted_prompt_tokens) FILTER (WHERE {seen})::bigint,
    coalesce(sum(logged_generation_tokens) FILTER (WHERE {seen}), sum(logged_generation_tokens), 0)::bigint,
    sum(counted_generation_tokens) FILTER (WHERE {seen})::bigint
FROM rollups_replicahour WHERE {where} GROUP BY replica_id ORDER BY replica_id
"""
_SEEN = "counted_prompt_tokens IS NOT NULL AND counted_generation_tokens IS NOT NULL"


def coverage(window: Window, replicas: frozenset[int] | None = None) -> list[Coverage]:
    """One row a replica that counts in an hour of the window; `replicas` keeps only those."""
    where, parameters = condition(window, Filters(replica=replicas), "hour")
    return [Coverage(*row) for row in rows(_QUERY.format(seen=_SEEN, where=where), parameters)]
