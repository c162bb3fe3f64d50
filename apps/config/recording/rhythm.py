"""When copies of a recording begin, so that a week of them looks like a week: a function of dates and one anchor."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

WEEK_SECONDS = 7 * 86_400
_SPACE_SECONDS = 120
"""At least so long between the end of one copy and the beginning of the next."""

_WEEKDAY = ((7, 10), (8, 40), (10, 5), (11, 30), (13, 15), (15, 0), (17, 20))
_WEEKEND = ((9, 30), (13, 20), (18, 10))
_WOBBLE_SECONDS = 20 * 60


def copy_starts(*, anchor: int, length: int, since: int, until: int) -> list[int]:
    """Starts, in whole seconds since 1970, of the copies that begin in [since, until): seven a weekday, three else.

    The copy that begins at `anchor` is always among them; those of the calendar that would overlap it give way. Nobody
    but the anchor depends on when this is asked, and no two copies overlap as long as `length` is under an hour.
    """
    starts = {anchor} if since <= anchor < until else set()
    day = datetime.fromtimestamp(since, UTC).date()
    last = datetime.fromtimestamp(until, UTC).date()
    while day <= last:
        for start in _day(day):
            if since <= start < until and abs(start - anchor) >= length + _SPACE_SECONDS:
                starts.add(start)
        day += timedelta(days=1)
    return sorted(starts)


def _day(day: date) -> list[int]:
    plan = _WEEKDAY if day.weekday() < 5 else _WEEKEND
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
    return [
        midnight + hour * 3600 + minute * 60 + _wobble(day.toordinal(), place)
        for place, (hour, minute) in enumerate(plan)
    ]


def _wobble(ordinal: int, place: int) -> int:
    """A few minutes that differ from day to day and are the same whenever they are asked for."""
    return (ordinal * 7919 + place * 104_729) * 31 % _WOBBLE_SECONDS
