"""Addresses of the pages."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from apps.dashboard.pages.groups import GROUPINGS
from apps.dashboard.views import auth, catalog, engines, glossary, groups, health, overview, requests, settings, tasks

urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview.page, name="overview"),
    path("tasks", tasks.page, name="tasks"),
    *(path(f"{by}s", groups.table, {"dimension": by}, name=f"{by}s") for by in GROUPINGS),
    *(path(f"{by}s/<str:slug>", groups.detail, {"dimension": by}, name=by) for by in GROUPINGS),
    path("engines", engines.page, name="engines"),
    path("requests", requests.page, name="requests"),
    path("requests/task", requests.task, name="task"),
    path("data-health", health.page, name="data-health"),
    path("data-health/rejected", health.rejects, name="rejects"),
    path("data-health/rejected/<int:reject_id>", health.reject, name="reject"),
    path("data-health/rejected/<int:reject_id>/discard", health.discard, name="reject-discard"),
    path("glossary", glossary.page, name="glossary"),
    *auth.urlpatterns,
    *catalog.urlpatterns,
    *settings.urlpatterns,
]
