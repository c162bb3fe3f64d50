"""Other programs that hold the embedded servers: started, watched and killed by the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

from apps.config.embedded import Places
from apps.config.embedded.postgres import postmaster

ROOT = Path(__file__).resolve().parents[2]
# Becomes the user after its imports: the Python of these tests may lie where only root can read.
HOLDER = """
import os, psycopg, signal, sys
from pathlib import Path
from apps.config.embedded import Places, ServerError, hold
if len(sys.argv) > 2:
    os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    hold(Places(Path(sys.argv[1])))
except ServerError as error:
    sys.exit(f"sentence: {error}")
print("holding", flush=True)
sys.stdin.read()
"""


class Holder:
    """A program that holds the servers of `var` until it is told to leave, or killed."""

    def __init__(self, var: Path, user: int | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(var), *([] if user is None else [str(user)])],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_holding(self) -> Holder:
        assert self.process.stdout and self.process.stderr
        if self.process.stdout.readline() != "holding\n":
            raise AssertionError(self.process.stderr.read())
        return self

    def sentence(self) -> str:
        """What it says when it cannot hold them."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 1, (out, err)
        return err.strip().removeprefix("sentence: ")

    def leave(self) -> None:
        self.process.communicate(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def terminate(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=30)


def query(places: Places, statement: str, *, database: str = "inferometer") -> list[tuple[object, ...]]:
    with psycopg.connect(host=str(places.sockets), user="postgres", dbname=database, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def server_pids(var: Path) -> list[int]:
    """Every PostgreSQL main process and Valkey whose command line or directory is under `var`."""
    found = []
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(var) in words and process.info["name"] in {"postgres", "valkey-server"}:
            found.append(process.pid)
    return sorted(found)


def postgres_pid(places: Places) -> int | None:
    running = postmaster(places)
    return running.pid if running else None


def within(seconds: float, true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def kill_servers(var: Path) -> None:
    for pid in server_pids(var):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
