"""Whom PostgreSQL runs as. It refuses to run as root, so root hands it to a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from apps.config.embedded.failure import ServerError

NAME = "pgserver"


@dataclass(frozen=True, slots=True)
class SystemUser:
    name: str
    uid: int
    gid: int


def server_user(data: Path) -> SystemUser | None:
    """None for an ordinary user (the server runs as ourselves); for root the owner of `data`, or a user of its own."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (uid := data.stat().st_uid) != 0:
        return _by_uid(uid)
    return _by_name(NAME) or _create() or _nobody()


def _by_uid(uid: int) -> SystemUser:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise ServerError(
            f"The embedded database belongs to user id {uid}, which this machine does not know: create that user, "
            "or choose another directory with INFEROMETER_VAR."
        ) from None
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _by_name(name: str) -> SystemUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _create() -> SystemUser | None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is None:
        return None
    subprocess.run(
        [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME],
        capture_output=True,
        check=False,
    )
    return _by_name(NAME)


def _nobody() -> SystemUser:
    nobody = _by_name("nobody")
    if nobody is None:
        raise ServerError(
            "PostgreSQL does not run as root, and no other user could be found or created: run this as an ordinary "
            "user, or point DATABASE_URL at a PostgreSQL server."
        )
    return nobody


def let_reach(path: Path, user: SystemUser | None) -> None:
    """Let `user` pass through the directories above `path`: search permission only, and only where it is missing."""
    if user is None:
        return
    for directory in path.resolve().parents:
        info = directory.stat()
        owned = info.st_uid == user.uid or (info.st_gid == user.gid and info.st_mode & 0o010)
        if not owned and not info.st_mode & 0o001:
            directory.chmod((info.st_mode & 0o7777) | 0o001)


def let_read(tree: Path, user: SystemUser | None) -> None:
    """Let everybody read what was installed under `tree`, as packages elsewhere are (a strict umask forbids it)."""
    if user is None:
        return
    for path in (tree, *tree.rglob("*")):
        mode = path.lstat().st_mode
        if path.is_symlink():
            continue
        wanted = mode | 0o004 | (0o001 if path.is_dir() or mode & 0o100 else 0)
        if wanted != mode:
            path.chmod(wanted & 0o7777)
