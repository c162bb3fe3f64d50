"""PostgreSQL's settings for one machine that it shares with the rest of the product, by the memory it has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

from apps.config.embedded.system_user import SystemUser

MIB = 1 << 20


def write(data: Path, name: str, sockets: Path, user: SystemUser | None) -> None:
    """Write our settings beside postgresql.conf and have it include them."""
    _place(data / name, settings_text(sockets=sockets, memory=machine_memory(), shared=_shared_memory_room()), user)
    main = data / "postgresql.conf"
    include = f"include_if_exists '{name}'"
    text = main.read_text()
    if include not in text:
        _place(main, f"{text.rstrip()}\n{include}\n", user)


def settings_text(*, sockets: Path, memory: int, shared: int) -> str:
    """The configuration file. `memory` and `shared` (room in /dev/shm) in bytes."""
    buffers = min(max(memory // 8, 128 * MIB), 1024 * MIB)
    values: dict[str, str] = {
        "listen_addresses": "''",
        "unix_socket_directories": f"'{_quoted(sockets)}'",
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "shared_buffers": f"{buffers // MIB}MB",
        "effective_cache_size": f"{memory // 2 // MIB}MB",
        "work_mem": "32MB",
        "maintenance_work_mem": f"{min(max(memory // 32, 64 * MIB), 512 * MIB) // MIB}MB",
        # An acknowledged batch is on disk.
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        # Ingest comes in bursts: room for one between checkpoints, and WAL that compresses well.
        "wal_compression": "on",
        "max_wal_size": "2GB",
        "min_wal_size": "128MB",
        "checkpoint_timeout": "15min",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        # Local SSDs; partitions make plans wide, and compiling them costs more than it saves.
        "random_page_cost": "1.1",
        "jit": "off",
        # Containers often have a /dev/shm of 64 MB, too small for parallel queries.
        "dynamic_shared_memory_type": "posix" if shared >= 256 * MIB else "mmap",
        "timezone": "'UTC'",
        "log_timezone": "'UTC'",
        "logging_collector": "off",
        # Statements carry labels and people's names; the reason of an error is enough.
        "log_min_error_statement": "panic",
        "log_checkpoints": "off",
        "log_autovacuum_min_duration": "-1",
    }
    head = "# Written at every start; put your own settings into postgresql.auto.conf with ALTER SYSTEM.\n"
    return head + "".join(f"{name} = {value}\n" for name, value in values.items())


def machine_memory() -> int:
    """Bytes of memory that this process may count on: the machine's, or the container's where that is less."""
    total = int(psutil.virtual_memory().total)
    for limit in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        try:
            text = limit.read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total


def _shared_memory_room() -> int:
    try:
        return shutil.disk_usage("/dev/shm").free
    except OSError:
        return 1 << 40  # no such limit here: macOS


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _place(path: Path, text: str, user: SystemUser | None) -> None:
    """Replace a file whole, so that a kill in between leaves the old one."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.chmod(0o600)
    if user is not None:
        os.chown(draft, user.uid, user.gid)
    draft.replace(path)
