"""Unknown is not zero: a quantity that cannot be stated carries the reason in its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A quantity that is not known, and why, in words fit for a page ("no price for GPU type h100")."""

    reason: str

    def __bool__(self) -> bool:
        return False
