"""GET /api/v1/catalog, described."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, extend_schema_view

from apps.api.schema import shapes as s
from apps.api.schema.common import answer, failures
from apps.core.query import DIMENSIONS

COMPONENTS = {
    "Catalog": s.thing(
        "Nouns by slug. A key that is limited to teams sees its teams only.",
        {"teams": s.many(s.ref("Noun"), "Teams.")},
        {
            f"{dimension}s": s.many(s.ref("Noun"), f"All {dimension}s.")
            for dimension in DIMENSIONS
            if dimension != "team"
        },
    )
}

CATALOG = extend_schema_view(
    get=extend_schema(
        operation_id="catalog",
        summary="Slugs that filters take",
        description="Scope read. Teams, endpoints, models, replicas and keys that the catalog knows.",
        responses={200: answer("Catalog", "All nouns."), **failures(400, 401, 403, 503)},
    )
)
