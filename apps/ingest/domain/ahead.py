"""Items made by a thread while the caller is busy with those before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from queue import Full, Queue
from threading import Event, Lock, Thread
from typing import TypeVar

T = TypeVar("T")


HANDOVER_SECONDS = 0.0005
"""How long the reading thread may keep the interpreter from the caller. The caller needs it for moments only, dozens of
times a chunk, between waits for the database: at Python's usual 5 ms each it would wait longer than it works."""

_usual: list[float] = []
_usual_lock = Lock()


@contextmanager
def _quick_handover() -> Iterator[None]:
    """Threads take turns more often while anybody is inside; the interval is one for the whole process."""
    with _usual_lock:
        _usual.append(sys.getswitchinterval())
        sys.setswitchinterval(min(HANDOVER_SECONDS, _usual[0]))
    try:
        yield
    finally:
        with _usual_lock:
            if len(_usual) == 1:
                sys.setswitchinterval(_usual[0])
            _usual.pop()


class _End:
    """Put behind the last item; carries what ended the reading, if it was not the end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def read_ahead(items: Iterator[T], is_last: Callable[[T], bool]) -> Generator[T, None, None]:
    """The items, where the second and later ones are made by a thread while the caller is busy with those before.

    A single item, that `is_last`, needs no thread.
    """
    first = next(items, None)
    if first is None or is_last(first):
        if first is not None:
            yield first
        return
    queue: Queue[T | _End] = Queue(maxsize=1)
    stop = Event()
    thread = Thread(target=_fill, args=(items, queue, stop), name="ingest-reader", daemon=True)
    with _quick_handover():
        thread.start()
        try:
            yield first
            while True:
                item = queue.get()
                if isinstance(item, _End):
                    if item.error is not None:
                        raise item.error
                    return
                yield item
        finally:
            stop.set()
            thread.join()


def _fill(items: Iterator[T], queue: Queue[T | _End], stop: Event) -> None:
    def put(item: T | _End) -> bool:
        while not stop.is_set():
            try:
                queue.put(item, timeout=0.1)
            except Full:
                continue
            return True
        return False

    try:
        for item in items:
            if not put(item):
                return
        put(_End())
    except BaseException as error:  # noqa: BLE001 - handed to the caller
        put(_End(error))
