"""What one process of the group is, and the operating system's side of starting and ending it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO


@dataclass(frozen=True, slots=True)
class Program:
    """A command with a short name for its lines in the log. One with a `then` ends by itself and hands over to it."""

    name: str
    command: tuple[str, ...]
    then: Program | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


class Child:
    """A running program. It leads a process group of its own, so that a Ctrl-C reaches it through us only."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.last_lines: deque[str] = deque(maxlen=8)
        self.process = subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **program.environment},
            start_new_session=True,
            preexec_fn=_ends_with_its_parent(),
        )

    @property
    def output(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def returncode(self) -> int | None:
        return self.process.poll()

    def ask_to_stop(self) -> None:
        if self.returncode is None:
            self.process.terminate()

    def kill(self) -> None:
        """End whatever is left of its group: workers may outlive their master."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ending(self) -> str:
        """How it ended, in words."""
        code = self.returncode
        if code is None:
            return "still runs"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _ends_with_its_parent() -> Callable[[], None] | None:
    """On Linux: have the kernel terminate the child when we are killed and cannot do it ourselves."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def set_death_signal() -> None:
        prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # killed before the call above
            os._exit(1)

    return set_death_signal
