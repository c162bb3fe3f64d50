"""The embedded PostgreSQL cluster: made once, started when it does not run, stopped without losing anything."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from apps.config.embedded import tuning, wheels
from apps.config.embedded.failure import ServerError
from apps.config.embedded.places import POSTGRES_PORT, Places
from apps.config.embedded.system_user import SystemUser, let_reach, let_read, server_user

DATABASE = "inferometer"
START_SECONDS = 120  # crash recovery after a kill replays at most max_wal_size
STOP_SECONDS = 2
ROOM_FOR_A_NEW_CLUSTER = 300 << 20
ROOM_TO_RUN = 64 << 20
CONFIGURATION = "inferometer.conf"


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What postmaster.pid says about a server that is alive."""

    pid: int
    ready: bool


def start(places: Places) -> None:
    """Make sure that the server runs and accepts connections. Called with the gate held."""
    if _use_running(places):
        return
    data = places.postgres_data
    user = server_user(data)
    _need_room(places)
    if not (data / "PG_VERSION").exists():
        _create_cluster(places, user)
    _check_version(data)
    _clear_dead_lock(data / "postmaster.pid")
    _clear_dead_lock(places.postgres_socket.with_name(places.postgres_socket.name + ".lock"))
    tuning.write(data, CONFIGURATION, places.sockets, user)
    _launch(places, user)
    _ensure_database(places)


def _use_running(places: Places) -> bool:
    """True when a server of this cluster runs and can be reached where everybody looks for it."""
    deadline = time.monotonic() + START_SECONDS
    while (running := postmaster(places)) is not None:
        if running.ready and _listens(places.postgres_socket):
            return True
        if running.ready:  # its sockets are elsewhere: started with other settings, or before var/ was moved
            stop(places)
        elif time.monotonic() > deadline:
            raise ServerError(f"PostgreSQL is still starting after {START_SECONDS} s (process {running.pid}).")
        time.sleep(0.1)
    return False


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        try:
            connection.connect(str(path))
        except OSError:
            return False
    return True


def stop(places: Places) -> None:
    """Fast shutdown; if its last checkpoint takes too long, an immediate one, which the next start recovers from."""
    running = postmaster(places)
    if running is None:
        return
    user = server_user(places.postgres_data)
    for mode in ("fast", "immediate"):
        arguments = ["stop", "-s", "-w", "-t", str(STOP_SECONDS), "-m", mode, "-D", str(places.postgres_data)]
        if _program("pg_ctl", arguments, user).returncode == 0:
            return
    _kill(running.pid)


def postmaster(places: Places) -> Postmaster | None:
    """The live server of this data directory, whoever started it; None when there is none."""
    try:
        lines = (places.postgres_data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not lines or not lines[0].strip().isdigit() or not _is_postgres(int(lines[0])):
        return None
    return Postmaster(int(lines[0]), ready=len(lines) >= 8 and lines[7].strip() == "ready")


def _is_postgres(pid: int) -> bool:
    """Process ids are given out again: after a restart of the machine this may be anybody's."""
    try:
        process = psutil.Process(pid)
        return process.name().startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _need_room(places: Places) -> None:
    fresh = not (places.postgres_data / "PG_VERSION").exists()
    needed = ROOM_FOR_A_NEW_CLUSTER if fresh else ROOM_TO_RUN
    free = shutil.disk_usage(places.var).free
    if free < needed:
        raise ServerError(
            f"The disk of {places.var} has {free >> 20} MiB free and PostgreSQL needs at least {needed >> 20} MiB: "
            "free some space, or choose another directory with INFEROMETER_VAR."
        )


def _create_cluster(places: Places, user: SystemUser | None) -> None:
    """initdb beside the final place and a rename, so that a killed first start leaves nothing half-made."""
    data = places.postgres_data
    if data.exists() and any(data.iterdir()):
        raise ServerError(
            f"{data} is not empty and not a PostgreSQL cluster: move it away, or choose another INFEROMETER_VAR."
        )
    for tree in wheels.postgres_trees() if user else []:
        let_reach(tree, user)
        let_read(tree, user)
    draft = data.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    if user is not None:
        os.chown(draft, user.uid, user.gid)
    arguments = ["-D", str(draft), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"]
    arguments += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    done = _program("initdb", arguments, user)
    if done.returncode != 0:
        shutil.rmtree(draft, ignore_errors=True)
        raise ServerError(f"PostgreSQL's data directory could not be made in {data}: {_reason(done.stderr)}")
    if data.exists():
        data.rmdir()
    draft.rename(data)


def _check_version(data: Path) -> None:
    version = (data / "PG_VERSION").read_text().strip()
    if version != "18":
        raise ServerError(
            f"{data} was made by PostgreSQL {version} and the embedded one is 18: dump it with that version, "
            "or point DATABASE_URL at a server of that version."
        )


def _clear_dead_lock(lock: Path) -> None:
    """Remove a lock file whose process is gone; PostgreSQL itself would take a reused id for a live server."""
    try:
        first = lock.read_text().split("\n", 1)[0].strip()
    except FileNotFoundError:
        return
    if not (first.isdigit() and _is_postgres(int(first))):
        lock.unlink(missing_ok=True)


def _launch(places: Places, user: SystemUser | None) -> None:
    log = places.logs / "postgres.log"
    _prepare_log(log, user)
    if user is not None:
        let_reach(places.sockets / "x", user)
        let_reach(wheels.postgres_programs() / "x", user)
    already = log.stat().st_size
    deadline = time.monotonic() + START_SECONDS
    while True:
        left = max(1, int(deadline - time.monotonic()))
        arguments = ["start", "-s", "-w", "-t", str(left), "-l", str(log), "-D", str(places.postgres_data)]
        done = _program("pg_ctl", arguments, user)
        if done.returncode == 0:
            return
        said = log.read_bytes()[already:].decode(errors="replace")
        # Backends of a postmaster that was killed take a moment to notice, and hold the shared memory until then.
        if (
            not any(sign in said for sign in ("is still in use", "already exists"))
            or time.monotonic() > deadline - START_SECONDS + 15
        ):
            raise ServerError(f"PostgreSQL did not start: {_reason(said or done.stderr)} (its log: {log})")
        time.sleep(0.3)
        already = log.stat().st_size


def _prepare_log(log: Path, user: SystemUser | None) -> None:
    if log.exists() and log.stat().st_size > 20 << 20:
        log.rename(log.with_suffix(".log.1"))
    log.touch(mode=0o600)
    if user is not None:
        os.chown(log, user.uid, user.gid)
        let_reach(log, user)


def _ensure_database(places: Places) -> None:
    import psycopg
    from psycopg import sql

    where = {"host": str(places.sockets), "port": POSTGRES_PORT, "user": "postgres"}
    with psycopg.connect(**where, dbname="postgres", autocommit=True) as connection:  # type: ignore[arg-type]
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _program(name: str, arguments: list[str], user: SystemUser | None) -> subprocess.CompletedProcess[str]:
    """Run one of PostgreSQL's programs. Its output goes to files: a daemon it leaves behind would hold a pipe open."""
    identity: dict[str, object] = {}
    if user is not None:
        identity = {"user": user.uid, "group": user.gid, "extra_groups": []}
    environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
    command = [str(wheels.postgres_programs() / name), *arguments]
    with tempfile.TemporaryFile("w+") as out:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=environment,
            check=False,
            **identity,  # type: ignore[call-overload]
        )
        out.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, stderr=out.read())


def _reason(text: str) -> str:
    """The line that says why, out of what a PostgreSQL program printed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for mark in ("FATAL:", "PANIC:", "ERROR:", "error:", "could not"):
        for line in lines:
            if mark in line:
                return line.split(mark, 1)[1].strip() if mark.endswith(":") else line
    return lines[-1] if lines else "it said nothing."


def _kill(pid: int) -> None:
    try:
        process = psutil.Process(pid)
        process.kill()
        process.wait(2)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        pass
