"""The frame around every page: navigation, the person signed in, and what must be said on each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from apps.dashboard.state import PageState


@dataclass(frozen=True, slots=True)
class Link:
    text: str
    url: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class Banner:
    tone: str
    text: str
    url: str = ""
    link_text: str = ""


@dataclass(frozen=True, slots=True)
class Shell:
    nav: Sequence[Link] = ()
    banners: Sequence[Banner] = ()
    person: str = ""
    account_links: Sequence[Link] = ()
    sign_out_url: str = ""


PAGES = (
    ("overview", "Overview"),
    ("tasks", "Cost per task"),
    ("teams", "Teams"),
    ("endpoints", "Endpoints"),
    ("models", "Models"),
    ("engines", "Engines"),
    ("data-health", "Data health"),
    ("catalog", "Catalog"),
    ("settings", "Settings"),
)
"""Route names and words of the navigation, in order."""

NOT_FOR_LEADS = frozenset({"engines", "data-health", "catalog", "settings"})
KEEPS_STATE = frozenset({"overview", "tasks", "teams", "endpoints", "models", "engines"})


def shell_of(request: HttpRequest, state: PageState | None) -> Shell:
    """The frame for the person who asks; for somebody not signed in only the product's name."""
    viewer = getattr(request, "viewer", None)
    user = getattr(request, "user", None)
    if viewer is None or user is None or not user.is_authenticated:
        return Shell()
    nav = []
    for route, text in PAGES:
        if viewer.teams is not None and route in NOT_FOR_LEADS:
            continue
        url = _route(route)
        if not url:
            continue
        current = request.path == url or (route != "overview" and request.path.startswith(url.rstrip("/") + "/"))
        nav.append(Link(text, state.url(url) if state and route in KEEPS_STATE else url, current))
    password_url = _route("password")
    return Shell(
        nav=nav,
        person=user.get_username(),
        account_links=[Link("Change password", password_url)] if password_url else [],
        sign_out_url=_route("sign-out"),
    )


def _route(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
