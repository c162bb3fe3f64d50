"""The page of engines."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.dashboard.access import require
from apps.dashboard.pages import engines
from apps.dashboard.state import read
from apps.dashboard.views.respond import respond


@require("engines")
def page(request: HttpRequest) -> HttpResponse:
    state = read(request, default_range="24h", dimensions=("replica",))
    shown = engines.build(state)
    return respond(
        request,
        state,
        "pages/engines.html",
        {"page": shown},
        heading="Engines",
        answer=shown.answer,
        with_charts=True,
        with_compare=False,
    )
