"""Sortable table heads: each is a link to the same page sorted by it, with the order that holds now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from apps.dashboard.state import PageState

Order = Literal["ascending", "descending", ""]


@dataclass(frozen=True, slots=True)
class Head:
    """What a column is called, and by which sort words it can be sorted: first click, second click ("" for never)."""

    name: str
    sort: str = ""
    other: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    number: bool
    url: str
    order: Order


def columns(state: PageState, heads: Sequence[Head]) -> list[Column]:
    return [Column(head.name, head.number, _url(state, head), _order(state, head)) for head in heads]


def _url(state: PageState, head: Head) -> str:
    if not head.sort:
        return ""
    is_sorted = state.choices.get("sort") == head.sort
    return state.url(sort=head.other if is_sorted and head.other else head.sort)


def _order(state: PageState, head: Head) -> Order:
    sort = state.choices.get("sort", "")
    if not sort or sort not in (head.sort, head.other):
        return ""
    return "descending" if sort.startswith("-") else "ascending"
