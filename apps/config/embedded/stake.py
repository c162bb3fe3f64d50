"""Each process's stake in the embedded servers: the first in starts them, the last out stops them.

Two lock files under var/run. `users` is held shared by every live user; the kernel lets go of it when a process dies,
however it dies. `gate` is held exclusively by whoever starts or stops, so that the two never cross. A server that
outlived its users is found by the next one, and stopped when that one leaves.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from apps.config.embedded import postgres, valkey
from apps.config.embedded.failure import told_plainly
from apps.config.embedded.places import Places, make_directories
from apps.config.embedded.system_user import let_reach, server_user

_stakes: dict[Places, Stake] = {}
_mutex = threading.Lock()


class Stake:
    """A process's hold on the servers of one var/."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.pid = os.getpid()
        self.users = os.open(places.run / "users", os.O_RDWR | os.O_CREAT, 0o600)

    def is_ours(self) -> bool:
        """False in a child of a fork, which needs a stake of its own."""
        return self.pid == os.getpid()

    def take(self) -> None:
        fcntl.flock(self.users, fcntl.LOCK_SH)

    def leave(self) -> None:
        with _gate(self.places):
            if self._is_last():
                postgres.stop(self.places)
                valkey.stop(self.places)
            fcntl.flock(self.users, fcntl.LOCK_UN)  # a forked child may hold the file open for longer
            os.close(self.users)

    def _is_last(self) -> bool:
        try:
            fcntl.flock(self.users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def hold(places: Places, *, with_postgres: bool = True, with_valkey: bool = True) -> None:
    """Have the servers running for as long as this process lives; quick when they are. Raises ServerError."""
    with _mutex, told_plainly(places.var):
        stake = _stakes.get(places)
        if stake is None or not stake.is_ours():
            owner = server_user(places.postgres_data)
            make_directories(places, owner.uid if owner else None)
            let_reach(places.postgres_data, owner)
            stake = Stake(places)
            if not _stakes:
                atexit.register(release_all)
            _stakes[places] = stake
        with _gate(places):
            stake.take()
            if with_postgres:
                postgres.start(places)
            if with_valkey:
                valkey.start(places)


def release_all() -> None:
    """Give up every stake of this process, stopping the servers that nobody else uses."""
    with _mutex:
        for places, stake in list(_stakes.items()):
            del _stakes[places]
            if stake.is_ours():
                stake.leave()


@contextmanager
def _gate(places: Places) -> Iterator[None]:
    gate = os.open(places.run / "gate", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield
    finally:
        os.close(gate)
