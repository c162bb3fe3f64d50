"""How much of what engines counted gateways have logged."""

from __future__ import annotations

from dataclasses import dataclass

from apps.core.query import Filters
from apps.core.time import Window
from apps.core.unknown import Unknown
from apps.rollups.selectors.query import condition, rows


@dataclass(frozen=True, slots=True)
class Coverage:
    """Tokens of one replica in the hours in which its engine was seen."""

    replica_id: int
    logged_prompt_tokens: int
    counted_prompt_tokens: int | None
    logged_generation_tokens: int
    counted_generation_tokens: int | None

    @property
    def share(self) -> float | Unknown:
        """Logged / counted tokens, of prompts and answers together; over one: more was logged than the engine did."""
        if self.counted_prompt_tokens is None or self.counted_generation_tokens is None:
            return Unknown("the engine's counters are not seen")
        counted = self.counted_prompt_tokens + self.counted_generation_tokens
        if counted == 0:
            return Unknown("the engine counted no tokens")
        return (self.logged_prompt_tokens + self.logged_generation_tokens) / counted


_QUERY = """
SELECT replica_id,
    coalesce(sum(logged_prompt_tokens) FILTER (WHERE {seen}), 0)::bigint,
    sum(counted_prompt_tokens) FILTER (WHERE {seen})::bigint,
    coalesce(sum(logged_generation_tokens) FILTER (WHERE {seen}), 0)::bigint,
    sum(counted_generation_tokens) FILTER (WHERE {seen})::bigint
FROM rollups_replicahour WHERE {where} GROUP BY replica_id ORDER BY replica_id
"""
_SEEN = "counted_prompt_tokens IS NOT NULL AND counted_generation_tokens IS NOT NULL"


def coverage(window: Window, replicas: frozenset[int] | None = None) -> list[Coverage]:
    """One row a replica that counts in an hour of the window; `replicas` keeps only those."""
    where, parameters = condition(window, Filters(replica=replicas), "hour")
    return [Coverage(*row) for row in rows(_QUERY.format(seen=_SEEN, where=where), parameters)]
