"""Data health, and the rejected records that can be fixed and sent again."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.dashboard.access import require
from apps.dashboard.pages import health
from apps.dashboard.state import read
from apps.dashboard.views.respond import respond


@require("health")
def page(request: HttpRequest) -> HttpResponse:
    state = read(request, default_range="24h", dimensions=("replica",))
    shown = health.build(state)
    return respond(request, state, "pages/health.html", {"page": shown}, heading="Data health", answer=shown.answer)
