"""GET /api/v1/exports/focus.csv, described."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from apps.api.domain.parameters import Accepted
from apps.api.schema import shapes as s
from apps.api.schema.common import failures
from apps.api.schema.parameters import parameters
from apps.core.query import Dimension

FILTERS: tuple[Dimension, ...] = ("team", "endpoint", "model", "replica")
ACCEPTED = Accepted(filters=FILTERS, default_range=None, period=True)
COMPONENTS: dict[str, s.Shape] = {}

FOCUS = extend_schema_view(
    get=extend_schema(
        operation_id="focus_export",
        summary="The ledger as FOCUS 1.2",
        description=(
            "Scope export. FinOps Open Cost and Usage Specification 1.2, provider view, as CSV: all 57 columns in"
            " alphabetical order, then x_ columns. One row for each UTC hour, replica, team, endpoint, model,"
            " component, reason of work and price. Lines without a price are left out, since FOCUS has no null cost;"
            " the header X-Unpriced-Lines counts them."
        ),
        parameters=[
            *parameters(ACCEPTED),
            OpenApiParameter(
                "X-Unpriced-Lines",
                OpenApiTypes.INT,
                OpenApiParameter.HEADER,
                response=[200],
                description="Ledger lines of the window that have no price and are not in the file.",
            ),
            OpenApiParameter(
                "X-Focus-Version",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                response=[200],
                description="The FOCUS version of the file.",
            ),
        ],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "The file, streamed."),
            **failures(400, 401, 403, 503),
        },
    )
)
