"""Who may open a page: every view is marked with the permission that it needs, or as open to everybody."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.cache import add_never_cache_headers
from django.utils.http import urlencode

from apps.accounts.domain.roles import Permission
from apps.accounts.selectors import Viewer

Arguments = ParamSpec("Arguments")
View = Callable[Concatenate[HttpRequest, Arguments], HttpResponse]

OPEN = "open"
"""The mark of views that need no sign-in."""


def require(permission: Permission) -> Callable[[View[Arguments]], View[Arguments]]:
    """Only for people who may: others get 403, and somebody not signed in is sent to do so and comes back."""

    def mark(view: View[Arguments]) -> View[Arguments]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            if not viewer_of(request).can(permission):
                raise PermissionDenied
            response = view(request, *args, **kwargs)
            # Figures of one person must not come out of a cache, nor out of "back" after signing out.
            add_never_cache_headers(response)
            return response

        guarded.permission = permission  # type: ignore[attr-defined]
        return guarded

    return mark


def open_to_all(view: View[Arguments]) -> View[Arguments]:
    """Mark a view that needs no sign-in."""
    view.permission = OPEN  # type: ignore[attr-defined]
    return view


def viewer_of(request: HttpRequest) -> Viewer:
    return cast(Viewer, request.viewer)  # type: ignore[attr-defined]


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    htmx = getattr(request, "htmx", None)
    came_from = htmx.current_url_abs_path if htmx else request.get_full_path() if request.method == "GET" else None
    url = resolve_url(settings.LOGIN_URL)
    if came_from and came_from != "/":
        url = f"{url}?{urlencode({'next': came_from})}"
    if htmx:
        # A redirect would be followed inside the page and land in its panel.
        return HttpResponse(status=401, headers={"HX-Redirect": url})
    return HttpResponseRedirect(url)
