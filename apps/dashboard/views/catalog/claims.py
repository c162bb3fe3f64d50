"""The catalog's first page: what ingest met and nobody has named, each to be claimed with one click."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import selectors as accounts
from apps.catalog import selectors as catalog
from apps.catalog import services
from apps.core.errors import InvalidInput
from apps.dashboard.access import require
from apps.dashboard.views.catalog.common import audit_of, follow, follow_targets, page_context
from apps.dashboard.views.catalog.sections import BY_KIND
from apps.dashboard.views.events import PAGE, before, events

ROWS = 50


@require("catalog")
@require_safe
def first_page(request: HttpRequest) -> HttpResponse:
    """What waits to be claimed, or else the teams."""
    if catalog.unclaimed_count():
        return redirect("catalog-unclaimed")
    return redirect("catalog-section", "teams")


@require("catalog")
@require_safe
def unclaimed(request: HttpRequest) -> HttpResponse:
    page = Paginator(catalog.unclaimed(), ROWS).get_page(request.GET.get("page"))
    kinds = {row.kind: BY_KIND[row.kind] for row in page}
    context = page_context(
        request,
        "unclaimed",
        page=page,
        words={kind: section.one for kind, section in kinds.items()},
        known={kind: [row for row in section.rows() if row.claimed] for kind, section in kinds.items()},
        now=timezone.now(),
    )
    return render(request, "catalog/unclaimed.html", context)


@require("catalog.edit")
@require_POST
def claim(request: HttpRequest) -> HttpResponse:
    """Give a noun its name, or say which known one it is (`into`, a slug)."""
    kind, number = request.POST.get("kind", ""), request.POST.get("id", "")
    name, into_slug = request.POST.get("name", ""), request.POST.get("into", "").strip()
    section = BY_KIND.get(kind)
    noun_id = before(number)
    if section is None or noun_id is None:
        messages.error(request, "There is no such thing to claim.")
        return redirect("catalog-unclaimed")
    into = next((row for row in section.rows() if row.slug == into_slug), None)
    if into_slug and into is None:
        messages.error(request, f"There is no {section.one} {into_slug}. Choose one from the list, or claim by name.")
        return redirect("catalog-unclaimed")
    try:
        with transaction.atomic():
            target = into.id if into else None
            follow(services.claim(kind=kind, noun_id=noun_id, name=name, into=target, audit=audit_of(request)))
            if kind == "replica":
                follow_targets()
    except InvalidInput as error:
        messages.error(request, str(error))
    else:
        done = f"It is {into.name} now, in the past too." if into else f"{name.strip()} is claimed."
        messages.success(request, f"{done} Its hours are computed again.")
    return redirect(reverse("catalog-unclaimed"))


@require("catalog")
@require_safe
def history(request: HttpRequest) -> HttpResponse:
    rows = accounts.audit_trail(limit=PAGE + 1, before_id=before(request.GET.get("before", "")), action="catalog.")
    more = rows[PAGE - 1].id if len(rows) > PAGE else 0
    context = page_context(request, "history", events=events(rows[:PAGE]), more=more)
    return render(request, "catalog/history.html", context)
