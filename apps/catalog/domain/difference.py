"""What a write of the catalog does, step by step, in words fit for a terminal and a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Verb = Literal["create", "change", "claim", "merge", "alias", "price", "remove"]

_SIGNS: dict[Verb, str] = {
    "create": "+",
    "change": "~",
    "claim": "!",
    "merge": ">",
    "alias": "@",
    "price": "$",
    "remove": "-",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One noun, alias or price written. `details` are sentences such as 'owner: none -> platform'."""

    verb: Verb
    subject: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = f"{_SIGNS[self.verb]} {self.verb} {self.subject}"
        return f"{words}: {'; '.join(self.details)}" if self.details else words


@dataclass(frozen=True, slots=True)
class Merge:
    """Noun `old_id` is gone, and `new_id` of the same kind stands in its place."""

    kind: str
    old_id: int
    new_id: int


@dataclass(frozen=True, slots=True)
class Difference:
    """`omitted` is in the catalog and not in the file; it stays."""

    steps: tuple[Step, ...]
    omitted: tuple[str, ...] = ()
    merges: tuple[Merge, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.steps

    def __bool__(self) -> bool:
        return not self.is_empty

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        yield from map(str, self.steps)
        if self.omitted:
            yield f"Not in the file, and left as it is: {', '.join(self.omitted)}"
