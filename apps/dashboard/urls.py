"""Addresses of the pages."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from apps.dashboard.views import auth, glossary

urlpatterns: list[URLPattern | URLResolver] = [
    path("glossary", glossary.page, name="glossary"),
    *auth.urlpatterns,
]
