"""Every address of the product."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from apps.config.health import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health, name="healthz"),
    path("api/", include("apps.api.urls")),
    path("", include("apps.dashboard.urls")),
]
