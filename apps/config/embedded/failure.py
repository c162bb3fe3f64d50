"""Why the product cannot run here, as one sentence for the person who started it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ServerError(Exception):
    """One clear sentence: what failed, where, and what to do about it. Never shown with a traceback."""


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """Turn an operating-system error about something under `path` into a ServerError that names it."""
    try:
        yield
    except OSError as error:
        raise ServerError(_sentence(error, path)) from error


def _sentence(error: OSError, path: Path) -> str:
    where = error.filename or path
    move = "Give a writable directory on a local disk with INFEROMETER_VAR=/some/directory."
    match error.errno:
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"Cannot write to {where}: {error.strerror}. {move}"
        case errno.ENOSPC | errno.EDQUOT:
            return f"Cannot write to {where}: the disk is full. Free some space, or: {move}"
        case errno.ENOTDIR | errno.EEXIST:
            return f"Cannot use {path}: {where} is not a directory. {move}"
        case _:
            return f"Cannot use {where}: {error.strerror or error}. {move}"
