"""Quantities in words for people: money, tokens, counts, durations, shares, times. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

DASH = "—"
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}
_STEPS = ((1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def money(amount: Decimal, currency: str = "USD") -> str:
    """Two decimals from 1 on, four significant digits below: 1,204.50, 0.04215, 0."""
    magnitude = abs(amount)
    if magnitude == 0:
        digits = "0"
    elif magnitude >= 1 or round(magnitude, 4) >= 1:
        digits = f"{magnitude.quantize(Decimal('0.01'), ROUND_HALF_UP):,}"
    else:
        places = 3 - magnitude.adjusted()
        digits = f"{magnitude.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    sign = "−" if amount < 0 else ""
    symbol = _SYMBOLS.get(currency)
    return f"{sign}{symbol}{digits}" if symbol else f"{sign}{digits} {currency}".rstrip()


def amount(value: Decimal, places: int = 2) -> str:
    """A cell of a column of money: fixed decimals, and never 0.00 for what is not nothing."""
    least = Decimal(1).scaleb(-places)
    if value != 0 and abs(value) < least / 2:
        return f"< {least}" if value > 0 else f"> −{least}"
    return f"{value.quantize(least, ROUND_HALF_UP):,}".replace("-", "−")


def count(value: int) -> str:
    return f"{value:,}".replace("-", "−")


def hours(seconds: Decimal) -> str:
    """Seconds as hours: 0.25 h below ten, 1.24 k h above."""
    length = float(seconds) / 3600
    return f"{length:.2f} h" if length < 10 else f"{compact(length)} h"


def counted(number: int, one: str) -> str:
    """1 engine, 2 engines."""
    return f"{count(number)} {one}{'' if number == 1 else 's'}"


def compact_counted(number: int, one: str) -> str:
    """1 request, 18.3 M requests."""
    return f"{compact(number)} {one}{'' if number == 1 else 's'}"


def compact(value: float) -> str:
    """Three significant digits with a step: 999, 1.24 k, 18.3 M; whole numbers below a thousand."""
    magnitude = abs(value)
    sign = "−" if value < 0 else ""
    if magnitude < 999.5:
        return f"{sign}{magnitude:.0f}"
    for step, letter in _STEPS:
        scaled = magnitude / step
        if scaled >= 0.9995:
            places = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{sign}{scaled:.{places}f} {letter}"
    return f"{sign}{magnitude:.0f}"


def seconds(value: float) -> str:
    """Three significant digits in the unit that fits: 850 µs, 42.1 ms, 1.24 s, 3 min 20 s, 2 h 5 min."""
    if value == 0:
        return "0 s"
    if abs(value) < 0.0009995:
        return f"{_three(value * 1e6)} µs"
    if abs(value) < 0.9995:
        return f"{_three(value * 1e3)} ms"
    if abs(value) < 99.95:
        return f"{_three(value)} s"
    return span(timedelta(seconds=value))


def _three(value: float) -> str:
    magnitude = abs(value)
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2
    return f"{value:.{places}f}"


def span(length: timedelta) -> str:
    """A length of time in its two largest units: 45 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    total = round(length.total_seconds())
    if total < 0:
        return f"−{span(-length)}"
    for size, big, small_size, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if total >= size:
            rest = total % size // small_size
            return f"{total // size} {big}" + (f" {rest} {small}" if rest else "")
    return f"{total} s"


def share(value: float) -> str:
    """A ratio as percent: 0.0012 as 0.12 %, 0.153 as 15.3 %, 1 as 100 %."""
    percent = value * 100
    if percent == 0 or abs(percent) >= 99.95:
        return f"{percent:.0f} %"
    if abs(percent) < 0.005:
        return "< 0.01 %" if percent > 0 else "> −0.01 %"
    return f"{percent:.2f} %" if abs(percent) < 1 else f"{percent:.1f} %"


def listed(names: Sequence[str]) -> str:
    """a, b and c; from four on: a, b and 2 more."""
    if len(names) <= 1:
        return "".join(names)
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def ago(moment: datetime, now: datetime) -> str:
    """14 s ago, 3 min ago, 2 h ago, 5 d ago; "in 3 min" for a time ahead."""
    length = now - moment
    if length < timedelta(0):
        return f"in {_largest(-length)}"
    return "just now" if length < timedelta(seconds=5) else f"{_largest(length)} ago"


def _largest(length: timedelta) -> str:
    total = math.floor(length.total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if total >= size:
            return f"{total // size} {unit}"
    return f"{total} s"


def moment(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def minute(value: datetime) -> str:
    return f"{value.astimezone(UTC):%-d %b %H:%M}"


def second(value: datetime) -> str:
    return f"{value.astimezone(UTC):%-d %b %H:%M:%S}"


def day(value: datetime) -> str:
    return f"{value.astimezone(UTC):%a %-d %b}"


def bucket(value: datetime, grain: str) -> str:
    return day(value) if grain == "day" else minute(value)


def window(start: datetime, end: datetime) -> str:
    """Both ends, the year once, the day once where it is the same: 24 Nov 00:00 – 30 Nov 09:24 2026 UTC."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    if start.date() == end.date():
        return f"{start:%-d %b %Y %H:%M} – {end:%H:%M} UTC"
    year = "" if start.year == end.year else f" {start:%Y}"
    return f"{start:%-d %b}{year} {start:%H:%M} – {end:%-d %b %Y %H:%M} UTC"
