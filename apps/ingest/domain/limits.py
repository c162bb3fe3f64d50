"""What is believable in a record, and how large one may be."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from apps.core.time import to_micros

MAX_TOKENS = 100_000_000
MAX_TEXT = 512
"""Characters of a label or an id."""
MAX_CHARGE = 9_000_000
"""Of the charge's currency; what a 64-bit count of 10^-12 can hold."""
MAX_COUNT = 32_767
"""Of attempts, steps and status codes: 16-bit columns."""
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
CLOCK_TOLERANCE_US = HOUR_US
"""A sender's clock may run this far ahead."""
LONGEST_US = 7 * 24 * HOUR_US
OLDEST_US = to_micros(datetime(2020, 1, 1, tzinfo=UTC))
LONGEST_QUEUE_US = LONGEST_US
MAX_DEPTH = 64
"""Levels of nesting in one record."""
MAX_BRACKETS = 100_000
"""Objects and lists that begin or end in one record."""
MAX_PROBLEMS = 20
"""Told of one record."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of one record and of what is decoded at a time; records read by column, and stored, together.

    The last three bound what one body may cost that is wrong from end to end: bytes of elements that are too long,
    records that hold nothing to store, bytes of those among them that had to be taken apart.
    """

    record_bytes: int = 1 << 20
    block_bytes: int = 1 << 20
    whole_bytes: int = 16 << 20
    page_records: int = 512
    chunk_records: int = 16_384
    skipped_bytes: int = 64 << 20
    wrong_records: int = 20_000
    wrong_bytes: int = 16 << 20

    def without_end(self) -> Sizes:
        """For files of any size, whose reader may take all the time they need."""
        return replace(self, skipped_bytes=sys.maxsize, wrong_records=sys.maxsize, wrong_bytes=sys.maxsize)
