"""The frame around every page: navigation, the person signed in, and what must be said on each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from apps.accounts.domain.roles import Permission
from apps.attribution import selectors as attribution
from apps.dashboard import format as words
from apps.dashboard.access import viewer_of
from apps.dashboard.heard import Heard
from apps.dashboard.state import PageState
from apps.ingest import selectors as ingest


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


@dataclass(frozen=True, slots=True)
class Page:
    """An entry of the navigation; `keeps_state`: its link takes range and filters along."""

    route: str
    text: str
    permission: Permission
    keeps_state: bool = True


SILENCE = timedelta(minutes=15)

PAGES = (
    Page("overview", "Overview", "costs"),
    Page("tasks", "Cost per task", "costs"),
    Page("teams", "Teams", "costs"),
    Page("endpoints", "Endpoints", "costs"),
    Page("models", "Models", "costs"),
    Page("engines", "Engines", "engines"),
    Page("data-health", "Data health", "health", keeps_state=False),
    Page("catalog", "Catalog", "catalog", keeps_state=False),
    Page("settings", "Settings", "settings", keeps_state=False),
)


def shell_of(request: HttpRequest, state: PageState | None) -> Shell:
    """The frame for the person who asks; for somebody not signed in only the product's name."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return Shell()
    viewer = viewer_of(request)
    nav = []
    for page in PAGES:
        url = _route(page.route)
        if url and viewer.can(page.permission):
            current = request.path == url or (url != "/" and request.path.startswith(url.rstrip("/") + "/"))
            nav.append(Link(page.text, state.url(url) if state and page.keeps_state else url, current))
    password_url = _route("password")
    return Shell(
        nav=nav,
        banners=[*banners(state), *_recomputing(request, state)],
        person=user.get_username(),
        account_links=[Link("Change password", password_url)] if password_url else [],
        sign_out_url=_route("sign-out"),
    )


def banners(state: PageState | None) -> list[Banner]:
    """What each page must say: that the data are a recording, and which prices are assumed."""
    found = []
    heard = state.heard if state is not None else Heard()
    if notice := ingest.recording_notice(heard.sources, heard.targets):
        found.append(Banner("note", notice))
    if state is not None and state.period.unfinished is not None and (silence := _silence(state)):
        found.append(silence)
    assumed = attribution.assumptions(window=state.period.window) if state is not None else []
    if assumed:
        named = "; ".join(_assumption(price) for price in assumed[:3])
        more = f"; and {len(assumed) - 3} more" if len(assumed) > 3 else ""
        found.append(Banner("warn", f"Assumed prices: {named}{more}."))
    return found


def _recomputing(request: HttpRequest, state: PageState | None) -> list[Banner]:
    """That hours are computed again after a change of names or prices, on pages of costs and of the catalog."""
    if state is None and not request.path.startswith(_route("catalog")):
        return []
    hours = attribution.recomputing(state.period.window if state else None, state.now if state else timezone.now())
    if not hours:
        return []
    which = words.counted(hours, "hour") + (" of this range" if state else "")
    verb = "is" if hours == 1 else "are"
    return [Banner("note", f"{which} {verb} being computed again after a change of names or prices: figures may move.")]


def _silence(state: PageState) -> Banner | None:
    """That the newest figures are incomplete, when neither a source nor an engine has been heard of for a while."""
    seen = [source.last_seen_at for source in state.heard.sources]
    seen += [target.last_ok_at for target in state.heard.targets]
    newest = max((moment for moment in seen if moment is not None), default=None)
    if newest is None or state.now - newest < SILENCE:
        return None
    since = words.moment(newest)
    return Banner("warn", f"Nothing has come in since {since}: figures after that are incomplete.")


def _assumption(price: attribution.Assumption) -> str:
    unit = "GPU-hour" if price.kind == "gpu_hour" else "reviewer hour"
    return f"{words.money(price.amount, price.currency)} per {unit} ({price.source.rstrip('.')})"


def _route(name: str) -> str:
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
