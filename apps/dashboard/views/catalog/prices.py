"""The price book: what holds from when, and a form that shows which hours a new price changes before it is saved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.catalog import selectors as catalog
from apps.catalog import services
from apps.catalog.domain.prices import PriceEntry, PriceKind, day_of
from apps.core.errors import InvalidInput
from apps.dashboard.access import require, viewer_of
from apps.dashboard.forms import show_problems
from apps.dashboard.forms.catalog import PRICE_FORMS, PriceForm
from apps.dashboard.views.catalog.common import audit_of, page_context

TITLES = {"gpu_hour": "One GPU for one hour", "reviewer_hour": "One hour of review"}
_FIELDS = {"from": "effective_from", "until": "effective_until"}


@dataclass(frozen=True, slots=True)
class PriceRow:
    id: int
    what: str
    amount: str
    since: str
    until: str
    source: str
    assumed: bool
    holds: bool
    kind: str
    reference: str


@require("catalog")
@require_safe
def price_list(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    rows = _rows(catalog.prices(), now)
    groups = [(kind, title, [row for row in rows if row.kind == kind]) for kind, title in TITLES.items()]
    has_gpu_types = bool(catalog.gpu_types())
    return render(
        request, "catalog/prices.html", page_context(request, "prices", groups=groups, has_gpu_types=has_gpu_types)
    )


def _rows(prices: Iterable[PriceEntry], now: datetime) -> list[PriceRow]:
    gpu_types = {row.id: row for row in catalog.gpu_types()}
    endpoints = {row.id: row for row in catalog.endpoints()}
    rows = []
    for price in prices:
        noun = gpu_types.get(price.series.gpu_type_id) or endpoints.get(price.series.endpoint_id)
        rows.append(
            PriceRow(
                id=price.id,
                what=noun.name if noun else "all endpoints",
                amount=f"{_plain(price)} {price.currency}",
                since=day_of(price.effective_from),
                until=day_of(price.effective_until) if price.effective_until else "",
                source=price.source,
                assumed=price.assumed,
                holds=price.effective_from <= now and (price.effective_until is None or now < price.effective_until),
                kind=price.series.kind,
                reference=noun.slug if noun else "",
            )
        )
    return rows


def _plain(price: PriceEntry) -> str:
    """At least two decimals, and no more than say something."""
    whole, _, digits = f"{price.amount:f}".partition(".")
    return f"{whole}.{digits.rstrip('0').ljust(2, '0')}"


@require("prices.edit")
@require_http_methods(["GET", "HEAD", "POST"])
def set_price(request: HttpRequest, kind: str) -> HttpResponse:
    if kind not in PRICE_FORMS:
        raise Http404
    if request.method == "GET":
        return _form_page(request, kind, PRICE_FORMS[kind](initial=_suggested(request, kind)))
    form = PRICE_FORMS[kind](request.POST)
    if not form.is_valid():
        return _form_page(request, kind, form, status=400)
    confirmed = request.POST.get("confirm") == _digest(form)
    try:
        effect = services.set_price(
            kind=cast(PriceKind, kind),
            fields=form.price_fields(),
            user_id=viewer_of(request).user_id,
            audit=audit_of(request),
            dry_run=not confirmed,
        )
    except InvalidInput as error:
        show_problems(form, error, _FIELDS)
        return _form_page(request, kind, form, status=400)
    if confirmed:
        messages.success(request, "The price is set. Hours that cost something else now are computed again.")
        return redirect("catalog-prices")
    return _form_page(request, kind, form, effect=effect)


def _form_page(
    request: HttpRequest,
    kind: str,
    form: PriceForm,
    *,
    effect: services.PriceEffect | None = None,
    status: int = 200,
) -> HttpResponse:
    context = page_context(
        request,
        "prices",
        form=form,
        kind=kind,
        title=TITLES[kind],
        steps=effect.difference.steps if effect else (),
        spans=[_words(span) for span in effect.spans] if effect else [],
        digest=_digest(form) if effect else "",
    )
    return render(request, "catalog/price.html", context, status=status)


def _digest(form: PriceForm) -> str:
    """Of what was typed: only what was shown can be confirmed, not what was typed after that."""
    return hashlib.sha256(repr(sorted(form.price_fields().items())).encode()).hexdigest()


def _suggested(request: HttpRequest, kind: str) -> dict[str, object]:
    """A new price begins with the terms of the one that it follows, and today."""
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    reference = request.GET.get("of", "")
    suggested: dict[str, object] = {"gpu_type": reference, "endpoint": reference, "effective_from": today}
    number = request.GET.get("like", "")
    like = next((price for price in catalog.prices() if str(price.id) == number and price.series.kind == kind), None)
    if like is not None:
        suggested |= {
            "amount": _plain(like),
            "currency": like.currency,
            "source": like.source,
            "assumed": like.assumed,
        }
    return suggested


def _words(span: tuple[datetime | None, datetime | None]) -> str:
    since, until = span
    start = f"from {day_of(since)}" if since else "from the beginning"
    return f"{start} until {day_of(until)}" if until else f"{start} on"


@require("prices.edit")
@require_POST
def remove(request: HttpRequest, price_id: int) -> HttpResponse:
    try:
        services.remove_price(price_id=price_id, audit=audit_of(request))
    except InvalidInput as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The price is removed. Hours that cost something else now are computed again.")
    return redirect("catalog-prices")
