"""GET /api/v1/catalog: the slugs that filters take."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.domain.parameters import Accepted, check_names
from apps.api.naming import as_dict
from apps.api.schema.catalog import CATALOG
from apps.api.views.base import Reading
from apps.catalog import selectors as catalog
from apps.core.errors import InvalidInput, Problem
from apps.core.query import DIMENSIONS, NONE_GIVEN, Dimension


@CATALOG
class CatalogNouns(Reading):
    accepted = Accepted()

    def get(self, request: Request) -> Response:
        problems: list[Problem] = []
        check_names({name: request.query_params.getlist(name) for name in request.query_params}, (), problems)
        if problems:
            raise InvalidInput(problems)
        teams = self.caller(request).teams
        visible: tuple[Dimension, ...] = DIMENSIONS if teams is None else ("team",)
        return Response(
            {
                f"{dimension}s": [
                    as_dict(name)
                    for name in sorted(catalog.names(dimension).values(), key=lambda name: name.slug)
                    if name.id != NONE_GIVEN and (teams is None or name.id in teams)
                ]
                for dimension in visible
            }
        )
