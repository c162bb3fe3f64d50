"""PostgreSQL and Valkey from their wheels, under var/: found and reused, or started; stopped by whoever leaves last."""

from apps.config.embedded.failure import ServerError
from apps.config.embedded.places import Places
from apps.config.embedded.stake import hold, release_all

__all__ = ["Places", "ServerError", "hold", "release_all"]
