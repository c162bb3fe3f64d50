"""Puts on every request who looks: `request.viewer`, with role and team limit."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from apps.accounts.selectors import Viewer, viewer


class ViewerMiddleware:
    """Lazy, so that answers to machines (API keys, health) ask the database for no session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        def look() -> Viewer:
            return viewer(request.user)

        request.viewer = SimpleLazyObject(look)  # type: ignore[attr-defined]
        return self._get_response(request)
