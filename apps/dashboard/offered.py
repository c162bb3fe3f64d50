"""Which names a viewer may pick from: of the whole catalog, or of what the viewer's own teams used."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from apps.accounts.selectors import Viewer
from apps.catalog import selectors as catalog
from apps.catalog.domain.nouns import Name, Names
from apps.core.query import NONE_GIVEN, Dimension
from apps.core.time import Window
from apps.rollups import selectors as rollups

Offered = Mapping[Dimension, Mapping[int, Name]]
REMEMBERED = timedelta(days=90)
"""A lead is offered what own teams used within this time, or in the range of the page where that begins earlier."""


def offered(viewer: Viewer, names: Mapping[Dimension, Names], window: Window, now: datetime) -> Offered:
    """All of `names`, or for a viewer limited to teams those teams, their endpoints and what their requests used."""
    if viewer.teams is None:
        return names
    start = min(now - REMEMBERED, window.start)
    used = rollups.used_by(viewer.teams, Window(start, max(now, window.end)))
    own = {endpoint.id for endpoint in catalog.endpoints() if endpoint.team_id in viewer.teams}
    allowed = {**used, "team": viewer.teams, "endpoint": used["endpoint"] | own}
    return {
        dimension: {n: name for n, name in of.items() if n in allowed[dimension] or n == NONE_GIVEN}
        for dimension, of in names.items()
    }
