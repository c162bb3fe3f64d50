"""The time range of a page: the query's range, from, to and compare become windows, a bucket and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from apps.core.query import Bucket
from apps.core.time import DAY, HOUR, Window, day_floor, hour_floor

LONGEST = timedelta(days=400)
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
"""Times before this are typing errors; near the first year of the calendar nothing can be subtracted from them."""
_EXAMPLES = "use e.g. range=7d, or from=2026-01-01 and to=2026-01-31"

Key = Literal["1h", "6h", "24h", "3d", "7d", "28d", "90d", "today", "mtd", "last-month", "custom"]
DEFAULT: Key = "7d"
_WITH_LITTLE_DATA: tuple[Key, ...] = ("3d", "24h")


@dataclass(frozen=True, slots=True)
class Preset:
    key: Key
    name: str
    group: str


PRESETS = (
    Preset("1h", "Last hour", "Now"),
    Preset("6h", "Last 6 hours", "Now"),
    Preset("24h", "Last 24 hours", "Now"),
    Preset("3d", "Last 3 days", "Rolling"),
    Preset("7d", "Last 7 days", "Rolling"),
    Preset("28d", "Last 28 days", "Rolling"),
    Preset("90d", "Last 90 days", "Rolling"),
    Preset("today", "Today", "Calendar"),
    Preset("mtd", "Month to date", "Calendar"),
    Preset("last-month", "Last month", "Calendar"),
)
_NAMES = {preset.key: preset.name for preset in PRESETS}
_LIVE = frozenset({"1h", "6h", "24h"})


@dataclass(frozen=True, slots=True)
class Period:
    """A resolved range.

    `exact` is the range as asked, `window` the whole UTC hours that it touches (facts are kept by the hour);
    `before` is the window to compare with, None where comparing is off. `unfinished` is the start of the bucket that
    now falls in, None for a range that lies in the past. `query` holds what differs from the default, for links.
    """

    key: Key
    name: str
    exact: Window
    window: Window
    before: Window | None
    before_name: str
    bucket: Bucket
    unfinished: datetime | None
    query: dict[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        return self.key in _LIVE


def parse(query: Mapping[str, str], now: datetime, default: Key = DEFAULT) -> Period:
    """The period that `query` asks for; what it does not understand is left out and named in `ignored`."""
    ignored: list[str] = []
    kept: dict[str, str] = {}
    key: Key = default
    exact = _preset(default, now)
    if query.get("from") or query.get("to"):
        custom = _custom(query.get("from", ""), query.get("to", ""), now)
        if isinstance(custom, str):
            ignored.append(custom)
        else:
            key, exact = "custom", custom
            kept = {name: query[name] for name in ("from", "to") if query.get(name)}
    elif asked := query.get("range"):
        if asked in _NAMES:
            key = asked
            exact = _preset(key, now)
            if key != default:
                kept["range"] = key
        else:
            ignored.append(f"ignored range={asked[:40]}: {_EXAMPLES}")
    compare = query.get("compare", "prev")
    if compare not in ("prev", "off"):
        ignored.append(f"ignored compare={compare[:40]}: use prev or off")
        compare = "prev"
    if compare == "off":
        kept["compare"] = "off"
    window = _whole_hours(exact)
    before, before_name = (None, "") if compare == "off" else _before(key, window, exact)
    bucket = _bucket(window)
    return Period(
        key=key,
        name=_NAMES.get(key, "Custom range"),
        exact=exact,
        window=window,
        before=before,
        before_name=before_name,
        bucket=bucket,
        unfinished=_bucket_start(now, bucket) if window.contains(now) else None,
        query=kept,
        ignored=tuple(ignored),
    )


def default_for(wanted: Key, facts: Window | None, now: datetime) -> Key:
    """The range of a bare address: `wanted`, but for an installation with little data the longest that can be compared.

    `facts`: from the first to the last hour with facts. Where nothing can be compared yet, `wanted` stays.
    """
    if wanted != DEFAULT or facts is None:
        return wanted
    for key in (wanted, *_WITH_LITTLE_DATA):
        before = parse({}, now, key).before
        if before is not None and facts.start <= before.start:
            return key
    return wanted


def comparable(period: Period, facts: Window | None) -> Period:
    """The same period, without a comparison when facts begin only after the window that it would compare with does.

    A first day of data against half an hour before it would read as growth.
    """
    if period.before is None or (facts is not None and facts.start <= period.before.start):
        return period
    return replace(period, before=None, before_name="")


def _preset(key: Key, now: datetime) -> Window:
    if key in ("1h", "6h", "24h"):
        return Window(now - int(key[:-1]) * HOUR, now)
    today = day_floor(now)
    if key in ("3d", "7d", "28d", "90d"):
        return Window(today - (int(key[:-1]) - 1) * DAY, now)
    if key == "today":
        return Window(today, now)
    month = today.replace(day=1)
    if key == "mtd":
        return Window(month, now)
    return Window((month - DAY).replace(day=1), month)


def _custom(start_text: str, end_text: str, now: datetime) -> Window | str:
    """The window from `from` and `to` (either may be missing), or the sentence that says why not."""
    start = _moment(start_text, now, is_end=False) if start_text else None
    end = _moment(end_text, now, is_end=True) if end_text else now
    for name, text, moment in (("from", start_text, start), ("to", end_text, end)):
        if text and moment is None:
            return f"ignored {name}={text[:40]}: {_EXAMPLES}"
    if end is None:
        return f"ignored to={end_text[:40]}: {_EXAMPLES}"
    start = start if start is not None else end - 7 * DAY
    end = min(end, hour_floor(now) + HOUR)
    if start >= end:
        return f"ignored from={start_text[:40]} and to={end_text[:40]}: a range begins before it ends, and before now"
    if end - start > LONGEST:
        return f"ignored from={start_text[:40]} and to={end_text[:40]}: a range is at most {LONGEST.days} days"
    return Window(start, end)


def _moment(text: str, now: datetime, *, is_end: bool) -> datetime | None:
    """A date, an RFC 3339 time or now-7d; None where it is none of these or absurdly early.

    A date as an end means the end of that day.
    """
    try:
        moment = _read_moment(text.strip(), now, is_end=is_end)
    except (ValueError, OverflowError):
        return None
    return moment if moment is not None and moment >= _EARLIEST else None


def _read_moment(text: str, now: datetime, *, is_end: bool) -> datetime | None:
    """Raises ValueError or OverflowError for what is not a time of the calendar."""
    if text == "now":
        return now
    if text.startswith("now-") and text[4:-1].isascii() and text[4:-1].isdigit() and len(text) < 12:
        unit = {"m": timedelta(minutes=1), "h": HOUR, "d": DAY}.get(text[-1])
        return now - int(text[4:-1]) * unit if unit else None
    if len(text) == 10:
        day = date.fromisoformat(text)
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return moment + DAY if is_end else moment
    # A "+" in an address arrives as a space.
    moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _whole_hours(exact: Window) -> Window:
    end = hour_floor(exact.end)
    return Window(hour_floor(exact.start), end if end == exact.end else end + HOUR)


def _before(key: Key, window: Window, exact: Window) -> tuple[Window, str]:
    """The window to compare with, and its name."""
    if key == "today":
        return Window(window.start - DAY, window.end - DAY), "the same hours yesterday"
    if key in ("mtd", "last-month"):
        start = (window.start - DAY).replace(day=1)
        if key == "last-month":
            return Window(start, window.start), "the month before"
        return Window(start, min(start + window.length, window.start)), "the same days last month"
    if key in ("3d", "7d", "28d", "90d"):
        days = int(key[:-1])
        return Window(window.start - days * DAY, window.end - days * DAY), f"the {days} days before"
    return window.previous(), f"the {duration_words(exact.length)} before"


def duration_words(length: timedelta) -> str:
    """36 h as "36 hours", 48 h and more in days where they are whole: "3 days"."""
    hours = round(length / HOUR)
    if hours >= 48 and hours % 24 == 0:
        return f"{hours // 24} days"
    return "hour" if hours == 1 else f"{hours} hours"


def _bucket(window: Window) -> Bucket:
    return "hour" if window.length <= 3 * DAY else "day"


def _bucket_start(moment: datetime, bucket: Bucket) -> datetime:
    return hour_floor(moment) if bucket == "hour" else day_floor(moment)


def bucket_starts(window: Window, bucket: Bucket) -> list[datetime]:
    """Starts of all buckets that the window touches, so that a bucket without facts is shown as a gap."""
    step = HOUR if bucket == "hour" else DAY
    start = _bucket_start(window.start, bucket)
    return [start + n * step for n in range(-((start - window.end) // step))]
