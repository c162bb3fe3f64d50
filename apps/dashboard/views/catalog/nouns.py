"""Catalog pages of nouns: a table a kind, and one page to edit a noun, its labels and what it is merged into."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import selectors as accounts
from apps.catalog import selectors as catalog
from apps.catalog import services
from apps.catalog.domain.nouns import NounRow
from apps.core.errors import InvalidInput
from apps.core.time import EPOCH
from apps.dashboard.access import require
from apps.dashboard.forms import show_problems
from apps.dashboard.forms.catalog import FORMS, LabelForm, NounForm
from apps.dashboard.views.catalog.common import audit_of, follow, follow_targets, page_context
from apps.dashboard.views.catalog.sections import BY_SLUG, Section, table
from apps.dashboard.views.events import events

_HISTORY = 20


def _section(slug: str) -> Section:
    if slug not in BY_SLUG:
        raise Http404
    return BY_SLUG[slug]


def _row(section: Section, noun_id: int) -> NounRow:
    found = next((row for row in section.rows() if row.id == noun_id), None)
    if found is None:
        raise Http404
    return found


@require("catalog")
@require_safe
def section_page(request: HttpRequest, section: str) -> HttpResponse:
    found = _section(section)
    context = page_context(request, found.slug, section=found, rows=table(found))
    return render(request, "catalog/section.html", context)


@require("catalog.edit")
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, section: str) -> HttpResponse:
    found = _section(section)
    form = FORMS[found.kind](request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and (noun_id := _saved(request, found, None, form)):
        messages.success(request, f"{form.cleaned_data['name']} is in the catalog.")
        return redirect("catalog-noun", found.slug, noun_id)
    context = page_context(request, found.slug, section=found, form=form)
    return render(request, "catalog/noun.html", context, status=_status(request))


@require("catalog.edit")
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, section: str, noun_id: int) -> HttpResponse:
    found = _section(section)
    row = _row(found, noun_id)
    form = FORMS[found.kind](request.POST if request.method == "POST" else None, row=row)
    if request.method == "POST" and form.is_valid() and _saved(request, found, noun_id, form):
        messages.success(request, f"{form.cleaned_data['name']} is saved.")
        return redirect("catalog-noun", found.slug, noun_id)
    return _noun_page(request, found, row, form=form)


def _noun_page(
    request: HttpRequest,
    section: Section,
    row: NounRow,
    *,
    form: NounForm | None = None,
    label: LabelForm | None = None,
) -> HttpResponse:
    context = page_context(
        request,
        section.slug,
        section=section,
        row=row,
        form=form or FORMS[section.kind](row=row),
        label_form=label or LabelForm(),
        labels=catalog.aliases(section.kind, row.id) if section.has_labels else [],
        epoch=EPOCH,
        others=[other for other in section.rows() if other.id != row.id],
        events=events(accounts.audit_trail(limit=_HISTORY, subject=row.slug, action="catalog.")),
    )
    return render(request, "catalog/noun.html", context, status=_status(request))


def _saved(request: HttpRequest, section: Section, noun_id: int | None, form: NounForm) -> int | None:
    """The noun's id; None where the catalog refused, with its reasons on the form."""
    try:
        with transaction.atomic():
            saved = services.save_noun(
                kind=section.kind, noun_id=noun_id, fields=form.fields_of_file(), audit=audit_of(request)
            )
            if section.kind == "replica":
                follow_targets()
    except InvalidInput as error:
        show_problems(form, error)
        return None
    return saved


@require("catalog.edit")
@require_POST
def add_label(request: HttpRequest, section: str, noun_id: int) -> HttpResponse:
    found = _section(section)
    row = _row(found, noun_id)
    form = LabelForm(request.POST)
    if form.is_valid():
        try:
            services.point_alias(
                kind=found.kind,
                raw=form.cleaned_data["raw"],
                target_id=noun_id,
                valid_from=form.cleaned_data["valid_from"] or EPOCH,
                audit=audit_of(request),
            )
        except InvalidInput as error:
            show_problems(form, error)
        else:
            messages.success(request, "The label is set. Hours that it changes are computed again.")
            return redirect("catalog-noun", found.slug, noun_id)
    return _noun_page(request, found, row, label=form)


@require("catalog.edit")
@require_POST
def remove_label(request: HttpRequest, section: str, noun_id: int, alias_id: int) -> HttpResponse:
    found = _section(section)
    if not any(alias.id == alias_id for alias in catalog.aliases(found.kind, noun_id)):
        raise Http404
    services.remove_alias(alias_id=alias_id, audit=audit_of(request))
    messages.success(request, "The label is removed. Hours that it changes are computed again.")
    return redirect("catalog-noun", found.slug, noun_id)


@require("catalog.edit")
@require_POST
def merge(request: HttpRequest, section: str, noun_id: int) -> HttpResponse:
    found = _section(section)
    row = _row(found, noun_id)
    into = next((other for other in found.rows() if other.slug == request.POST.get("into")), None)
    if into is None:
        messages.error(request, f"Choose the {found.one} that {row.name} is.")
        return redirect("catalog-noun", found.slug, noun_id)
    try:
        with transaction.atomic():
            follow(services.claim(kind=found.kind, noun_id=noun_id, into=into.id, audit=audit_of(request)))
            if found.kind == "replica":
                follow_targets()
    except InvalidInput as error:
        messages.error(request, str(error))
        return redirect("catalog-noun", found.slug, noun_id)
    messages.success(request, f"{row.name} is {into.name} now, in the past too.")
    return redirect("catalog-noun", found.slug, into.id)


def _status(request: HttpRequest) -> int:
    """Pages that answer a POST are those that show a problem."""
    return 400 if request.method == "POST" else 200
