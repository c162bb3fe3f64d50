"""The embedded Valkey: the broker's queue and the cache. It keeps nothing over a restart, and nothing needs it to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time

import psutil

from apps.config.embedded import wheels
from apps.config.embedded.failure import ServerError
from apps.config.embedded.places import Places

START_SECONDS = 10
STOP_SECONDS = 2


def start(places: Places) -> None:
    """Make sure that the server runs and answers. Called with the gate held."""
    if answers(places):
        return
    _kill(_pid(places))  # one that lives and does not answer would hold the socket
    log = places.logs / "valkey.log"
    command = [str(wheels.valkey_program()), "--port", "0", "--daemonize", "yes"]
    command += ["--unixsocket", str(places.valkey_socket), "--unixsocketperm", "700"]
    command += ["--dir", str(places.valkey_data), "--pidfile", str(places.run / "valkey.pid"), "--logfile", str(log)]
    command += ["--save", "", "--appendonly", "no", "--databases", "2", "--loglevel", "warning"]
    command += ["--maxmemory", "256mb", "--maxmemory-policy", "noeviction"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/", check=False)
    deadline = time.monotonic() + START_SECONDS
    while not answers(places):
        if done.returncode != 0 or time.monotonic() > deadline:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise ServerError(f"Valkey did not start: {said[-1] if said else 'no answer'} (its log: {log})")
        time.sleep(0.01)


def stop(places: Places) -> None:
    pid = _pid(places)
    if _ask(places, b"SHUTDOWN NOSAVE\r\n") is not None or pid is not None:
        _wait_or_kill(pid)


def answers(places: Places) -> bool:
    return _ask(places, b"PING\r\n") == b"+PONG\r\n"


def _ask(places: Places, command: bytes) -> bytes | None:
    """One inline command, one reply; None when nobody answers. Small enough to spare a client library here."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(places.valkey_socket))
            connection.sendall(command)
            return connection.recv(200)
        except OSError:
            return None


def _pid(places: Places) -> int | None:
    """The process id of our live server; None when the file is missing or names somebody else by now."""
    try:
        pid = int((places.run / "valkey.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if _is_valkey(pid) else None


def _is_valkey(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return process.name().startswith("valkey") and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _wait_or_kill(pid: int | None) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while pid is not None and _is_valkey(pid):
        if time.monotonic() > deadline:
            _kill(pid)
            return
        time.sleep(0.01)


def _kill(pid: int | None) -> None:
    if pid is not None:
        try:
            os.kill(pid, signal.SIGKILL)
            psutil.Process(pid).wait(2)
        except (ProcessLookupError, psutil.Error):
            pass
