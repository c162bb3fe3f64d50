"""Time is UTC, windows are half-open [start, end), and the clock is always a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z, exact. `moment` must be aware."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC moment `micros` microseconds after 1970-01-01T00:00:00Z."""
    return EPOCH + timedelta(microseconds=int(micros))


def hour_floor(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def day_floor(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open span [start, end) of UTC time. Raises ValueError when naive or when end < start."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError("window needs aware times")
        if self.end < self.start:
            raise ValueError(f"window ends ({self.end}) before it starts ({self.start})")

    @classmethod
    def hour(cls, moment: datetime) -> Window:
        start = hour_floor(moment)
        return cls(start, start + HOUR)

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def previous(self) -> Window:
        """The window of equal length that ends where this one starts."""
        return Window(self.start - self.length, self.start)

    def contains(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def hours(self) -> Iterator[datetime]:
        """Starts of the UTC hours that the window touches."""
        hour = hour_floor(self.start)
        while hour < self.end:
            yield hour
            hour += HOUR
