"""A query string turned into a typed question, or into every problem that it has."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from apps.api.domain.cursors import Cursor, decode, fingerprint
from apps.api.domain.windows import DEFAULT_RANGE, parse_month, parse_window
from apps.core.errors import InvalidInput, Problem
from apps.core.query import Bucket, Dimension
from apps.core.time import Window, day_floor

DEFAULT_LIMIT, LARGEST_LIMIT = 200, 1000
BUCKETS: tuple[Bucket, ...] = get_args(Bucket)
WINDOW_NAMES = ("from", "to", "range")
_MOST_VALUES = 200


@dataclass(frozen=True, slots=True)
class Accepted:
    """What one endpoint understands."""

    group_by: tuple[Dimension, ...] = ()
    filters: tuple[Dimension, ...] = ()
    bucketed: bool = False
    paged: bool = False
    default_range: str | None = DEFAULT_RANGE
    period: bool = False

    def names(self) -> tuple[str, ...]:
        return (
            *WINDOW_NAMES,
            *(("period",) if self.period else ()),
            *(("group_by",) if self.group_by else ()),
            *(("bucket",) if self.bucketed else ()),
            *self.filters,
            *(("limit", "cursor") if self.paged else ()),
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `slugs` keeps only these per dimension; a page starts after `after`, in rows' sort order."""

    name: str
    window: Window
    group_by: tuple[Dimension, ...]
    bucket: Bucket
    slugs: Mapping[Dimension, tuple[str, ...]]
    limit: int
    after: tuple[int, ...] | None

    def cursor(self, position: tuple[int, ...]) -> str:
        return Cursor(self.name, self.window, position).encode()


def parse(*, path: str, query: Mapping[str, Sequence[str]], accepted: Accepted, now: datetime) -> Question:
    """Read a query string. Raises InvalidInput with every problem: unknown names, wrong values, and what is right."""
    problems: list[Problem] = []
    values = check_names(query, accepted.names(), problems)
    group_by = _group_by(values.get("group_by"), accepted, problems)
    bucket = _choice(values.get("bucket"), BUCKETS, "total", "bucket", problems)
    slugs = {name: _list(values[name], name, problems) for name in accepted.filters if name in values}
    limit = _limit(values.get("limit"), problems)
    window = _window(values, accepted, now, problems)
    name = fingerprint([("path", path), *((k, v) for k, v in values.items() if k not in {"cursor", "limit"})])
    cursor = None
    if "cursor" in values:
        try:
            cursor = decode(values["cursor"], name)
        except InvalidInput as error:
            problems.extend(error.problems)
    if window is not None and bucket == "day" and cursor is None:
        _whole_days(window, values, problems)
    if problems or window is None:
        raise InvalidInput(problems)
    if cursor is not None:
        window = cursor.window
    elif bucket == "day" and "from" not in values:
        window = Window(day_floor(window.start), window.end)
    return Question(name, window, group_by, bucket, slugs, limit, cursor.position if cursor else None)


def check_names(query: Mapping[str, Sequence[str]], known: Sequence[str], problems: list[Problem]) -> dict[str, str]:
    """One value per known name; notes unknown names (with the nearest known one) and names given twice."""
    values: dict[str, str] = {}
    for name, given in query.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(known)
            hint = hint if known else "this address takes none"
            problems.append(Problem("unknown_parameter", f"{name[:100]!r} is not a parameter here: {hint}", name[:100]))
        elif len(given) > 1:
            problems.append(Problem("duplicate", f"{name} is given {len(given)} times: give it once", name))
        elif "\x00" in given[0]:
            problems.append(Problem("wrong_value", f"{name} holds a NUL character", name))
        else:
            values[name] = given[0]
    return values


def unknown_slug(dimension: Dimension, slug: str, known: Sequence[str]) -> Problem:
    """What to say about a slug that the catalog does not know; `known` are those the caller may hear of."""
    near = difflib.get_close_matches(slug, known, n=3)
    hint = f": did you mean {' or '.join(near)}?" if near else ": see /api/v1/catalog"
    return Problem("unknown_value", f"no {dimension} has the slug {slug[:120]!r}{hint}", dimension)


def _group_by(raw: str | None, accepted: Accepted, problems: list[Problem]) -> tuple[Dimension, ...]:
    if raw is None:
        return ()
    wanted = _list(raw, "group_by", problems)
    right = "use " + ", ".join(accepted.group_by)
    for name in wanted:
        if name not in accepted.group_by:
            problems.append(Problem("wrong_value", f"cannot group by {name[:100]!r}: {right}", "group_by"))
    # The order of the answer's columns and rows is the caller's.
    return tuple(d for name in wanted for d in accepted.group_by if d == name)


def _list(raw: str, name: str, problems: list[Problem]) -> tuple[str, ...]:
    parts = [part.strip() for part in raw.split(",")]
    if not all(parts):
        problems.append(Problem("wrong_value", f"{name} has an empty element: write e.g. {name}=one,two", name))
    if len(parts) > _MOST_VALUES:
        problems.append(Problem("too_many", f"{name} has {len(parts)} elements: at most {_MOST_VALUES}", name))
        return ()
    return tuple(dict.fromkeys(part for part in parts if part))


def _choice(raw: str | None, known: tuple[Bucket, ...], default: Bucket, name: str, problems: list[Problem]) -> Bucket:
    for choice in known:
        if raw == choice:
            return choice
    if raw is not None:
        problems.append(Problem("wrong_value", f"{name} {raw[:100]!r} not understood: use {', '.join(known)}", name))
    return default


def _limit(raw: str | None, problems: list[Problem]) -> int:
    if raw is None:
        return DEFAULT_LIMIT
    if raw.isascii() and raw.isdigit() and len(raw) < 10 and 1 <= int(raw) <= LARGEST_LIMIT:
        return int(raw)
    problems.append(Problem("wrong_value", f"limit {raw[:100]!r} is not between 1 and {LARGEST_LIMIT}", "limit"))
    return DEFAULT_LIMIT


def _window(values: Mapping[str, str], accepted: Accepted, now: datetime, problems: list[Problem]) -> Window | None:
    if "period" in values:
        if any(name in values for name in WINDOW_NAMES):
            problems.append(Problem("conflict", "give either period or from and to, not both", "period"))
            return None
        return parse_month(values["period"], problems.append)
    return parse_window(
        start=values.get("from"),
        end=values.get("to"),
        span=values.get("range"),
        now=now,
        note=problems.append,
        default_span=accepted.default_range,
    )


def _whole_days(window: Window, values: Mapping[str, str], problems: list[Problem]) -> None:
    """With daily buckets a start that was given must be a UTC midnight; the end may lie in the day that is running."""
    if "from" in values and day_floor(window.start) != window.start:
        right = f"use {day_floor(window.start):%Y-%m-%d}"
        problems.append(Problem("not_on_the_day", f"daily buckets start at 00:00 UTC: {right}", "from"))
