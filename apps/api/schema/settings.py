"""The frame of the OpenAPI document: version, authentication, components."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension

from apps.api.schema import catalog, common, costs, focus, ingest, ledger, tasks, usage

DESCRIPTION = """
What your own LLM inference costs, who it was for, and whether it kept its promise.

Money is a decimal in a string, time is UTC, tokens are integers, and every unit is in its name. What is not known is
null beside a reason, never zero. Failures are RFC 9457 problem details. Keys come from Settings, API keys; they have
scopes (ingest, read, export) and may be limited to teams.
"""

SETTINGS: dict[str, Any] = {
    "TITLE": "Inferometer API",
    "DESCRIPTION": DESCRIPTION.strip(),
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SORT_OPERATION_PARAMETERS": False,
    "POSTPROCESSING_HOOKS": [],
    "APPEND_COMPONENTS": {
        "schemas": {
            name: shape
            for room in (common, ingest, usage, costs, tasks, ledger, catalog, focus)
            for name, shape in room.COMPONENTS.items()
        }
    },
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An API key, in either of two headers."""

    target_class = "apps.api.authentication.ApiKeyAuthentication"
    name = ["bearerKey", "headerKey"]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "bearerFormat": "ifm_<prefix>_<secret>"},
            {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        ]


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session of a person who has signed in to the dashboard."""

    target_class = "apps.api.authentication.ReadingSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
