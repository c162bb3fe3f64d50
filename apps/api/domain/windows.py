"""`from`, `to` and `range` as a caller wrote them, turned into a window of whole UTC hours."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from apps.core.errors import Problem
from apps.core.time import DAY, HOUR, Window, hour_floor

DEFAULT_RANGE = "7d"
LONGEST = timedelta(days=3 * 366)
_RANGE = re.compile(r"([1-9][0-9]{0,5})(h|d|w)")
_UNITS = {"h": HOUR, "d": DAY, "w": 7 * DAY}
_MONTH = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)(.*)")
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)

Note = Callable[[Problem], None]


def parse_window(
    *, start: str | None, end: str | None, span: str | None, now: datetime, note: Note, default_span: str | None
) -> Window | None:
    """The window [from, to), or None after telling `note` every problem.

    `span` ("7d") ends with the hour that is running at `now`. Without `end` the window ends there too. Facts are
    hourly, so both ends must be whole hours; with nothing given `default_span` counts, and None makes that a problem.
    """
    running = hour_floor(now) + HOUR
    if span is not None and (start is not None or end is not None):
        note(Problem("conflict", "give either range or from and to, not both", "range"))
        return None
    if start is None and end is not None:
        note(Problem("missing", "to is given without from: add from, e.g. from=2026-11-01", "from"))
        return None
    if start is None:
        if span is None and default_span is None:
            note(Problem("missing", "say the window: from and to, e.g. from=2026-11-01&to=2026-12-01", "from"))
            return None
        length = _length(span or default_span or "", note)
        return Window(running - length, running) if length else None
    first = parse_moment(start, "from", note)
    last = running if end is None else parse_moment(end, "to", note)
    if first is None or last is None:
        return None
    return _in_order(first, last, end is not None, note)


def parse_month(raw: str, note: Note) -> Window | None:
    """The UTC calendar month of "2026-11"."""
    match = _MONTH.fullmatch(raw)
    if match is None or not _EARLIEST.year <= int(match[1]) < _LATEST.year:
        note(Problem("wrong_value", f"{raw!r} is no month: use e.g. 2026-11", "period"))
        return None
    year, month = int(match[1]), int(match[2])
    start = datetime(year, month, 1, tzinfo=UTC)
    return Window(start, month_end(start))


def month_end(moment: datetime) -> datetime:
    """The first moment of the UTC month after that of `moment`."""
    start = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (start + timedelta(days=32)).replace(day=1)


def parse_moment(raw: str, field: str, note: Note) -> datetime | None:
    """A date (UTC midnight) or an RFC 3339 time with Z or an offset, on the hour; None after telling `note` why."""
    moment = _read(raw)
    if moment is None:
        right = "use a date (2026-11-30) or a time with Z or an offset (2026-11-30T14:00:00Z)"
        note(Problem("wrong_value", f"{raw!r} is no date and no RFC 3339 time: {right}", field))
        return None
    if not _EARLIEST <= moment < _LATEST:
        note(Problem("out_of_range", f"{raw!r} lies outside the years 2000 to 2199", field))
        return None
    if hour_floor(moment) != moment:
        below = hour_floor(moment)
        choice = f"{below:%Y-%m-%dT%H:00:00Z} or {below + HOUR:%Y-%m-%dT%H:00:00Z}"
        note(Problem("not_on_the_hour", f"facts are kept by whole UTC hours: use {choice}", field))
        return None
    return moment


def _read(raw: str) -> datetime | None:
    try:
        if _DATE.fullmatch(raw):
            day = date.fromisoformat(raw)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        match = _MOMENT.fullmatch(raw)
        if match is None or not match[2]:
            return None
        # An unescaped "+" of an offset arrives as a space.
        offset = "+" + match[2][1:] if match[2].startswith(" ") else match[2].upper()
        return datetime.fromisoformat(match[1].upper() + offset).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _length(raw: str, note: Note) -> timedelta | None:
    match = _RANGE.fullmatch(raw)
    if match is None:
        note(Problem("wrong_value", f"range {raw!r} not understood: use e.g. 24h, 7d or 4w", "range"))
        return None
    length = int(match[1]) * _UNITS[match[2]]
    if length > LONGEST:
        note(Problem("out_of_range", f"range {raw!r} is longer than {LONGEST.days} days", "range"))
        return None
    return length


def _in_order(first: datetime, last: datetime, end_given: bool, note: Note) -> Window | None:
    if last <= first:
        if end_given:
            note(Problem("end_before_start", "to must be later than from (it is exclusive)", "to"))
        else:
            note(Problem("out_of_range", "from lies in the future", "from"))
        return None
    if last - first > LONGEST:
        note(Problem("out_of_range", f"the window is longer than {LONGEST.days} days: ask in parts", "from"))
        return None
    return Window(first, last)
