"""manage.py run: the whole product on one machine, until Ctrl-C."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import OperationalError, connections

from apps.config import preparation
from apps.config.embedded import ServerError, hold
from apps.config.embedded.failure import told_plainly
from apps.config.programs import local_url, programs
from apps.config.supervisor import Group, Journal


class Command(BaseCommand):
    help = "Run the web server, the workers and the timetable over the embedded or the configured servers."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()
        with told_plainly(Path(settings.VAR_DIR)):
            lock = _only_one()
            settings.EMBEDDED.logs.mkdir(parents=True, exist_ok=True)
        _need_port(settings.BIND, settings.PORT)
        members = programs()
        journal = Journal(settings.EMBEDDED.logs, ["run", *(member.name for member in members)])
        sign_in = _prepared(lambda text: journal.say("run", text))
        code = Group(members, journal, lambda: _is_served(journal, began, sign_in)).run()
        journal.close()
        os.close(lock)
        if code:
            raise SystemExit(code)


def _prepared(say: Callable[[str], None]) -> str:
    if settings.EMBEDDED_POSTGRES or settings.EMBEDDED_VALKEY:
        hold(settings.EMBEDDED, with_postgres=settings.EMBEDDED_POSTGRES, with_valkey=settings.EMBEDDED_VALKEY)
    try:
        if preparation.migrate():
            say("The tables are up to date.")
        sign_in = preparation.how_to_sign_in()
    except OperationalError as error:
        raise ServerError(f"The database cannot be used: {str(error).strip().splitlines()[0]}") from error
    if preparation.collect_static():
        say("Static files are collected.")
    connections.close_all()
    return sign_in


def _only_one() -> int:
    """Held for as long as we run: two groups over one var/ would do everything twice."""
    path = settings.EMBEDDED.run / "group"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        running = os.read(lock, 300).decode(errors="replace").strip() or "elsewhere"
        os.close(lock)
        raise ServerError(
            f"Already running over {settings.VAR_DIR}: {running}. Stop it first, or give this one a directory of its "
            "own with INFEROMETER_VAR (and INFEROMETER_PORT)."
        ) from None
    os.truncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()}, {local_url()}\n".encode(), 0)
    return lock


def _need_port(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
            trial.listen(1)
    except OSError as error:
        match error.errno:
            case errno.EADDRINUSE:
                reason = f"Port {port} on {host} is taken by another program: choose another with INFEROMETER_PORT"
                raise ServerError(f"{reason}, for example INFEROMETER_PORT={_free_port(host)} make run") from None
            case errno.EACCES:
                reason = f"Port {port} is reserved for root: choose one above 1023 with INFEROMETER_PORT"
                raise ServerError(f"{reason}, for example INFEROMETER_PORT=8800 make run") from None
        raise ServerError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. INFEROMETER_BIND must be an address of this "
            "machine, for example 127.0.0.1, or 0.0.0.0 for all of them."
        ) from None


def _free_port(host: str) -> int:
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as trial:
        return int(trial.getsockname()[1])


def _is_served(journal: Journal, began: float, sign_in: str) -> bool:
    """Whether the web server listens; once it does, says where it is and how to sign in."""
    if not _listens():
        return False
    seconds = time.monotonic() - began
    lines = [f"Inferometer is at {settings.PUBLIC_URL or local_url()} (started in {seconds:.1f} s).", sign_in]
    if settings.DEMO:
        lines.append("A recording is being laid out over the last seven days: pages fill within about a minute.")
        lines.append("To start empty, for your own data: make run DEMO=0")
    else:
        lines.append("To connect your own engines and gateway: sign in and follow the first page, or see README.md.")
    lines.append("Stop with Ctrl-C.")
    journal.say("run", "\n".join(lines))
    return True


def _listens() -> bool:
    host, _, port = local_url().removeprefix("http://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=0.2):
            return True
    except OSError:
        return False
