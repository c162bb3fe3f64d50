"""Rows of a grouped question, read a page at a time without reading the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from apps.api.domain.parameters import Question
from apps.core.query import Dimension
from apps.core.time import DAY, HOUR, Window, from_micros, to_micros

_FIRST_STEP = {"hour": 6 * HOUR, "day": DAY}
_GROWTH = 4


class Grouped(Protocol):
    """A row that belongs to a bucket (None: the whole window) and to one id per dimension."""

    @property
    def bucket(self) -> datetime | None: ...
    @property
    def ids(self) -> Mapping[Dimension, int]: ...


R_co = TypeVar("R_co", bound=Grouped, covariant=True)
R = TypeVar("R", bound=Grouped)


@dataclass(frozen=True, slots=True)
class Page(Generic[R_co]):
    """`next_position` is the position to go on after; None on the last page."""

    rows: Sequence[R_co]
    next_position: tuple[int, ...] | None


def position(row: Grouped, group_by: Sequence[Dimension]) -> tuple[int, ...]:
    """The sort key: time first, then the ids in the order they were asked for. Names may change, ids do not."""
    return (to_micros(row.bucket) if row.bucket else 0, *(row.ids[dimension] for dimension in group_by))


def read_page(question: Question, ask: Callable[[Window], Sequence[R]]) -> Page[R]:
    """The rows after the question's cursor, at most its limit.

    A bucketed question is put in steps of whole buckets, so that a page of a long window costs what it shows; steps
    grow where little was found.
    """
    found: list[R] = []
    for rows in _steps(question, ask):
        later = (row for row in rows if question.after is None or position(row, question.group_by) > question.after)
        found += sorted(later, key=lambda row: position(row, question.group_by))
        if len(found) > question.limit:
            break
    rows_of_page = found[: question.limit]
    more = len(found) > question.limit
    return Page(rows_of_page, position(rows_of_page[-1], question.group_by) if more else None)


def _steps(question: Question, ask: Callable[[Window], Sequence[R]]) -> Iterator[Sequence[R]]:
    window = question.window
    if question.bucket == "total":
        yield ask(window)
        return
    start, step = window.start, _FIRST_STEP[question.bucket]
    if question.after:
        # A cursor is the caller's to tamper with: what it says is only ever used inside the window.
        start = max(start, min(_moment(question.after[0], window), window.end))
    while start < window.end:
        end = min(start + step, window.end)
        rows = ask(Window(start, end))
        yield rows
        start = end
        if len(rows) * _GROWTH < question.limit:
            step = min(step * _GROWTH, timedelta(days=128))


def _moment(micros: int, window: Window) -> datetime:
    return window.end if micros > to_micros(window.end) else from_micros(max(micros, to_micros(window.start)))
