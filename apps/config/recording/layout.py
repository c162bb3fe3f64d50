"""A recording's directory (gateway.ndjson.gz, outcomes.ndjson.gz, metrics/<replica>/<seconds>.prom.gz) as values."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from apps.config.recording.template import Template, outcome_template, payload_template


class NoRecording(ValueError):
    """The directory holds no recording of this layout; the message names what is missing."""


@dataclass(frozen=True)
class Logged:
    """One line of a log: when its source wrote it (seconds since 1970), and its bytes with times and ids set apart."""

    at: float
    template: Template


@dataclass(frozen=True)
class Recording:
    """What one directory holds. Requests and outcomes are in the order in which they were logged."""

    path: Path

    @cached_property
    def requests(self) -> list[Logged]:
        lines = _lines(self.path / "gateway.ndjson.gz")
        return [Logged(_number(line, b'"endTime": '), payload_template(line)) for line in lines]

    @cached_property
    def outcomes(self) -> list[Logged]:
        lines = _lines(self.path / "outcomes.ndjson.gz")
        return [Logged(_number(line, b'"decided_at": '), outcome_template(line)) for line in lines]

    @cached_property
    def pages(self) -> dict[str, list[tuple[int, bytes]]]:
        """Replica -> (seconds since 1970, page), by time."""
        return {
            folder.name: [
                (int(file.name.split(".")[0]), gzip.decompress(file.read_bytes()))
                for file in sorted(folder.glob("*.prom.gz"))
            ]
            for folder in sorted((self.path / "metrics").glob("*"))
            if folder.is_dir()
        }

    @cached_property
    def start(self) -> int:
        """Whole seconds since 1970 at or before everything in it."""
        began = [logged.template.first_second for logged in self.requests]
        scraped = [page[0][0] for page in self.pages.values() if page]
        return min([*began, *scraped])

    @cached_property
    def end(self) -> int:
        """Whole seconds since 1970 at or after everything in it."""
        logged = [entry.at for entry in (*self.requests, *self.outcomes)]
        scraped = [float(page[-1][0]) for page in self.pages.values() if page]
        return math.ceil(max([*logged, *scraped]))


def open_recording(path: Path) -> Recording:
    """The recording in a directory. Raises NoRecording when the directory does not hold one."""
    if not path.is_dir():
        raise NoRecording(f"{path} is not a directory")
    if not (path / "gateway.ndjson.gz").is_file() and not (path / "metrics").is_dir():
        raise NoRecording(f"{path} holds neither gateway.ndjson.gz nor metrics/: see docs/recordings.md")
    recording = Recording(path)
    if not recording.requests and not recording.pages:
        raise NoRecording(f"{path} is empty")
    return recording


def _lines(path: Path) -> list[bytes]:
    if not path.is_file():
        return []
    with gzip.open(path, "rb") as file:
        return [line for raw in file if (line := raw.strip())]


def _number(line: bytes, label: bytes) -> float:
    """The number behind `label`; by decoding where the text is spaced otherwise."""
    at = line.find(label)
    if at >= 0:
        return float(line[at + len(label) : at + len(label) + 25].split(b",")[0].rstrip(b"} \n"))
    return float(json.loads(line)[label.decode().strip('": ')])
