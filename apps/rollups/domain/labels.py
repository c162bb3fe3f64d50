"""Which raw label of a record names which dimension."""

from __future__ import annotations

from typing import Protocol

from apps.core.query import Dimension


class RawLabels(Protocol):
    """Labels exactly as a source gave them; empty: not given."""

    @property
    def team(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def model_requested(self) -> str: ...
    @property
    def model_served(self) -> str: ...
    @property
    def replica(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def key_alias(self) -> str: ...
    @property
    def key_hash(self) -> str: ...


def raw_labels(row: RawLabels) -> tuple[tuple[Dimension, str], ...]:
    """Kind and raw label of each dimension, in the order of `Attempts.owners`."""
    return (
        ("team", row.team),
        ("endpoint", row.endpoint),
        ("model", row.model_requested or row.model_served),
        ("replica", row.replica or row.backend),
        ("key", row.key_alias or row.key_hash),
    )
