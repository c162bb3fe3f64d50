"""Django's PostgreSQL backend that has the embedded server running by the time it connects.

So a lone management command needs nothing started beforehand, and one that never touches the database starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base, client

from apps.config.embedded import Places, hold, wheels


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell` with the psql that came with the server."""

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Iterable[str]
    ) -> tuple[list[str], dict[str, str] | None]:
        hold(settings_dict["EMBEDDED"], with_valkey=False)
        arguments, environment = super().settings_to_cmd_args_env(settings_dict, parameters)
        return [str(wheels.postgres_programs() / "psql"), *arguments[1:]], environment


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        places: Places = self.settings_dict["EMBEDDED"]
        hold(places, with_valkey=False)
        return super().get_connection_params()
