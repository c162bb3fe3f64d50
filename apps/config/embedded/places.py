"""Where the embedded servers keep their data, logs, locks and sockets, worked out from var/ alone."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from apps.config.embedded.failure import ServerError

# sun_path holds 104 bytes on macOS and the BSDs, 108 on Linux, with the closing NUL.
SOCKET_PATH_BYTES = 103
POSTGRES_PORT = 5432
_LONGEST_NAME = f".s.PGSQL.{POSTGRES_PORT}"


@dataclass(frozen=True)
class Places:
    """Paths below one var/. Equal var, equal places: every program on the machine works out the same ones."""

    var: Path

    @property
    def postgres_data(self) -> Path:
        return self.var / "postgres"

    @property
    def valkey_data(self) -> Path:
        return self.var / "valkey"

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def run(self) -> Path:
        """Locks and process ids; nothing in it is worth keeping when nothing runs."""
        return self.var / "run"

    @cached_property
    def sockets(self) -> Path:
        """Directory of the sockets: under var/, or in the temporary directory when that path is too long for one."""
        near = self.run / "sockets"
        if len(os.fsencode(near / _LONGEST_NAME)) <= SOCKET_PATH_BYTES:
            return near
        name = hashlib.sha256(os.fsencode(self.var)).hexdigest()[:16]
        return Path("/tmp") / f"inferometer-{os.geteuid()}-{name}"  # $TMPDIR can be as long as the path we avoid

    @property
    def postgres_socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{POSTGRES_PORT}"

    @property
    def valkey_socket(self) -> Path:
        return self.sockets / "valkey.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://postgres@/inferometer?host={self.sockets}&port={POSTGRES_PORT}"

    @property
    def broker_url(self) -> str:
        return f"redis+socket://{self.valkey_socket}"


def make_directories(places: Places, owner: int | None) -> None:
    """Create what is missing. `owner` is the user id PostgreSQL runs as, where that is not our own."""
    for directory in (places.var, places.logs, places.run, places.valkey_data):
        directory.mkdir(parents=True, exist_ok=True)
    sockets = places.sockets
    sockets.mkdir(mode=0o700, exist_ok=True)
    info = sockets.lstat()
    # In a shared temporary directory somebody else may have put the name there first.
    if not stat.S_ISDIR(info.st_mode) or info.st_uid not in {os.geteuid(), owner}:
        raise ServerError(
            f"{sockets} belongs to somebody else: remove it, or choose a shorter directory with INFEROMETER_VAR."
        )
    if owner is not None and info.st_uid != owner:
        os.chown(sockets, owner, -1)
    sockets.chmod(0o700)
