"""GET /api/schema: this API as OpenAPI 3.1."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.urls import include, path
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.schema.settings import SETTINGS
from apps.api.views.base import Endpoint


class Schema(Endpoint):
    """Open to all: it describes the doors, not what is behind them."""

    authentication_classes: Any = []
    permission_classes: Any = []
    schema = None

    def get(self, request: Request) -> Response:
        return Response(document())


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document, from the addresses and their descriptions."""
    with patched_settings(SETTINGS):
        generator: Any = SchemaGenerator(patterns=[path("api/", include("apps.api.urls"))])  # type: ignore[no-untyped-call]
        return dict(generator.get_schema(request=None, public=True))
