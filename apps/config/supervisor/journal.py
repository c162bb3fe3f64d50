"""One log out of many: each line with its process's name in front, on standard output and in a file a process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, TextIO

COLOURS = (36, 32, 33, 35, 34, 96, 92, 93)
LOG_BYTES = 10 << 20
LINE_BYTES = 8 << 10


class Journal:
    """Takes bytes as they come out of pipes, gives whole lines. Several writers, one reader: not for threads."""

    def __init__(self, directory: Path, names: list[str], screen: TextIO = sys.stdout) -> None:
        self._directory = directory
        self._width = max(map(len, names))
        self._colour = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
        self._screen = screen
        self._painted = screen.isatty() and "NO_COLOR" not in os.environ
        self._files: dict[str, IO[bytes]] = {}
        self._rest: dict[str, bytes] = {}

    def take(self, name: str, data: bytes) -> list[str]:
        """Write what is now complete; returns those lines. A line without end is cut at LINE_BYTES."""
        *lines, rest = (self._rest.get(name, b"") + data).split(b"\n")
        if len(rest) > LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._rest[name] = rest
        return [self._write(name, line) for line in lines]

    def finish(self, name: str) -> list[str]:
        """The process closed its output: write what it left without a line end."""
        rest = self._rest.pop(name, b"")
        return [self._write(name, rest)] if rest else []

    def say(self, name: str, text: str) -> None:
        for line in text.splitlines() or [""]:
            self._write(name, line.encode())

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _write(self, name: str, line: bytes) -> str:
        text = line.rstrip(b"\r").decode(errors="replace")
        self._file(name).write(line + b"\n")
        label = f"{name:<{self._width}} │"
        if self._painted:
            label = f"\x1b[{self._colour.get(name, 37)}m{label}\x1b[0m"
        self._screen.write(f"{label} {text}\n")
        self._screen.flush()
        return text

    def _file(self, name: str) -> IO[bytes]:
        """The process's log file. One that has grown large becomes NAME.log.1 when it is next opened."""
        if name not in self._files:
            path = self._directory / f"{name}.log"
            if path.exists() and path.stat().st_size > LOG_BYTES:
                path.replace(path.with_suffix(".log.1"))
            self._files[name] = path.open("ab", buffering=0)
        return self._files[name]
