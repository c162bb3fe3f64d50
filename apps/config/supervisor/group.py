"""Runs programs as one group until it is told to stop or one of them dies; then none is left."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from apps.config.supervisor.journal import Journal
from apps.config.supervisor.program import Child, Program

GRACE_SECONDS = 2.0
TICK_SECONDS = 0.1
SELF = "run"


class Group:
    """The first program starts at once, the others when `is_first_ready` says so: until then it has the cores."""

    def __init__(
        self, programs: list[Program], journal: Journal, is_first_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._waiting = programs
        self._journal = journal
        self._is_first_ready = is_first_ready
        self._children: list[Child] = []
        self._selector = selectors.DefaultSelector()
        self._stop_signal: signal.Signals | None = None

    def run(self) -> int:
        """Exit code: 0 when it was told to stop, 1 when a program died."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._told_to_stop)
        try:
            self._start(self._waiting.pop(0))
            return self._watch()
        except BrokenPipeError:  # whoever read our output is gone, as with `| head`
            return 0
        finally:
            with suppress(BrokenPipeError):
                self._end_all()
            self._selector.close()

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_signal = signal.Signals(number)

    def _start(self, program: Program) -> None:
        child = Child(program)
        os.set_blocking(child.output.fileno(), False)
        self._selector.register(child.output, selectors.EVENT_READ, child)
        self._children.append(child)

    def _watch(self) -> int:
        while self._stop_signal is None:
            self._relay(TICK_SECONDS)
            for child in list(self._children):
                if child.returncode is not None and not self._hand_over(child):
                    return self._report(child)
            if self._waiting and self._is_first_ready():
                for program in self._waiting:
                    self._start(program)
                self._waiting = []
        self._journal.say(SELF, f"{self._stop_signal.name}: stopping.")
        return 0

    def _hand_over(self, child: Child) -> bool:
        """True when the program was to end, ended well, and its successor runs."""
        if child.program.then is None or child.returncode != 0:
            return False
        self._drain(child)
        self._children.remove(child)
        self._start(child.program.then)
        return True

    def _report(self, child: Child) -> int:
        self._drain(child)
        self._journal.say(SELF, f"{child.program.name} {child.ending()}; stopping the others.")
        if child.last_lines:
            self._journal.say(SELF, f"{child.program.name} said last: {child.last_lines[-1]}")
        return 1

    def _relay(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            self._read(key.data)

    def _read(self, child: Child) -> bool:
        """False when there is nothing more to read for now."""
        try:
            data = os.read(child.output.fileno(), 64 << 10)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(child.output)
            child.last_lines.extend(self._journal.finish(child.program.name))
            return False
        child.last_lines.extend(self._journal.take(child.program.name, data))
        return True

    def _drain(self, child: Child) -> None:
        if child.output in {key.fileobj for key in self._selector.get_map().values()}:
            while self._read(child):
                pass

    def _end_all(self) -> None:
        """Ask, wait a little, then kill: every task is safe to be cut off, and is done again."""
        for child in self._children:
            child.ask_to_stop()
        deadline = time.monotonic() + GRACE_SECONDS
        while any(child.returncode is None for child in self._children) and time.monotonic() < deadline:
            with suppress(BrokenPipeError):
                self._relay(0.02)
        for child in self._children:
            child.kill()
            with suppress(BrokenPipeError):
                self._drain(child)
