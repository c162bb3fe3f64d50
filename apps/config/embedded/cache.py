"""Django's Redis cache that has the embedded Valkey running by the time it is first used."""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from apps.config.embedded import Places, hold


class EmbeddedCacheClient(RedisCacheClient):
    """Made lazily, once a thread, when the thread first asks for a key."""

    def __init__(self, servers: list[str], *, places: Places, **options: Any) -> None:
        hold(places, with_postgres=False)
        super().__init__(servers, **options)


class EmbeddedCache(RedisCache):
    """Takes the `Places` of the server as OPTIONS["places"]."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = EmbeddedCacheClient
