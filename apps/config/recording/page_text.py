"""A recorded /metrics page rewritten as text for a copy: counters ahead, process start moved, gauges idle if so."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from apps.config.recording.engine_track import Life

_IDLE_NAMES = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:num_requests_waiting_by_reason",
    "vllm:kv_cache_usage_perc",
)
_STARTS = re.compile(rb"^(process_start_time_seconds|[^#\s{]+_created)((?:\{.*\})? )([0-9.e+]+)$", re.MULTILINE)
"""Lines whose value is a moment: when the process and its series began."""
_GROWING_TYPES = ("counter", "histogram", "summary")


class _Role(Enum):
    COMMENT = 0
    PLAIN = 1
    GROWING = 2
    CREATED = 3
    PROCESS_START = 4
    BUSY = 5


@dataclass(frozen=True)
class PageText:
    """One recorded page. It is known to be well formed, with TYPE lines, as vLLM writes it."""

    page: bytes

    @cached_property
    def _lines(self) -> list[tuple[_Role, str, float]]:
        """(role, series or the whole line, value) of every line."""
        lines: list[tuple[_Role, str, float]] = []
        kind, family = "", ""
        for line in self.page.decode().splitlines():
            if line.startswith("#"):
                words = line.split(" ")
                if words[1] == "TYPE":
                    family, kind = words[2], words[3]
                lines.append((_Role.COMMENT, line, 0.0))
                continue
            head, _, value = line.rpartition(" ")
            lines.append((_role(family, kind), head, float(value)))
        return lines

    @cached_property
    def _growing(self) -> dict[str, float]:
        return {head: value for role, head, value in self._lines if role is _Role.GROWING}

    @cached_property
    def _created(self) -> float:
        return min(value for role, head, value in self._lines if role is _Role.CREATED and head.startswith("vllm:"))

    def rewritten(self, life: Life, first: PageText, last: PageText, *, idle: bool) -> bytes:
        """This page in `life`, `first` and `last` being the pages at the ends of the recording."""
        later = life.created - self._created
        out: list[str] = []
        for role, head, value in self._lines:
            if role is _Role.COMMENT:
                out.append(head)
                continue
            if role is _Role.GROWING:
                value += life.ahead * (last._growing.get(head, 0.0) - first._growing.get(head, 0.0))
            elif role is _Role.PROCESS_START:
                value = life.process_start
            elif role is _Role.CREATED:
                value += later
            elif role is _Role.BUSY and idle:
                value = 0.0
            out.append(f"{head} {value!r}")
        if life.ahead:
            for head, value in last._growing.items():
                if head not in self._growing:
                    out.append(f"{head} {life.ahead * (value - first._growing.get(head, 0.0))!r}")
        return ("\n".join(out) + "\n").encode()


def shifted(page: bytes, seconds: int) -> bytes:
    """The page as it would have been so many seconds later: the moments on it moved, everything else as it was."""

    def moved(line: re.Match[bytes]) -> bytes:
        return line[1] + line[2] + repr(float(line[3]) + seconds).encode()

    return _STARTS.sub(moved, page) if seconds else page


def _role(family: str, kind: str) -> _Role:
    if kind in _GROWING_TYPES:
        return _Role.GROWING
    if family.endswith("_created"):
        return _Role.CREATED
    if family == "process_start_time_seconds":
        return _Role.PROCESS_START
    return _Role.BUSY if family in _IDLE_NAMES else _Role.PLAIN
