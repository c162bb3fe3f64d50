"""Settings: API keys, people, and who changed what. Secrets are shown once, in the answer that made them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import selectors
from apps.accounts import services as accounts
from apps.catalog import selectors as catalog
from apps.core.errors import InvalidInput
from apps.dashboard.access import require, viewer_of
from apps.dashboard.forms import show_problems
from apps.dashboard.forms.settings import KeyForm, PersonChangeForm, PersonForm
from apps.dashboard.views.events import PAGE, before, events


def _who(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@require("settings")
@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HttpRequest) -> HttpResponse:
    form = KeyForm(request.POST or None, teams=catalog.teams())
    secret = ""
    if request.method == "POST" and form.is_valid():
        try:
            _, secret = accounts.create_key(
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                teams=form.cleaned_data["teams"] or None,
                user=_who(request),
            )
        except InvalidInput as error:
            show_problems(form, error)
        else:
            form = KeyForm(teams=catalog.teams())
    context = {
        "tab": "keys",
        "form": form,
        "secret": secret,
        "keys": selectors.api_keys(),
        "team_names": catalog.names("team"),
        "now": timezone.now(),
    }
    return render(request, "settings/keys.html", context, status=_status(request, form.is_bound))


@require("settings")
@require_POST
def revoke(request: HttpRequest, key_id: int) -> HttpResponse:
    if accounts.revoke_key(key_id=key_id, user=_who(request)):
        messages.success(request, "The key is revoked: whoever still sends it is refused from now on.")
    return redirect("settings")


@require("settings")
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    form = PersonForm(request.POST or None, teams=catalog.teams())
    if request.method == "POST" and form.is_valid():
        password = accounts.generated_password()
        try:
            made = accounts.create_person(
                username=form.cleaned_data["username"],
                password=password,
                role=form.cleaned_data["role"],
                teams=form.cleaned_data["teams"],
                by=_who(request),
            )
        except InvalidInput as error:
            show_problems(form, error)
        else:
            return _people(request, PersonForm(teams=catalog.teams()), made.username, password)
    return _people(request, form)


def _people(request: HttpRequest, form: PersonForm, username: str = "", password: str = "") -> HttpResponse:
    context = {
        "tab": "people",
        "form": form,
        "password": password,
        "password_label": f"The password of {username}.",
        "people": selectors.people(),
        "team_names": catalog.names("team"),
        "now": timezone.now(),
    }
    return render(request, "settings/people.html", context, status=_status(request, form.is_bound))


@require("settings")
@require_http_methods(["GET", "HEAD", "POST"])
def person(request: HttpRequest, user_id: int) -> HttpResponse:
    found = selectors.person(user_id)
    if found is None:
        raise Http404
    initial = {"role": found.role, "teams": [str(team) for team in found.teams], "active": found.active}
    form = PersonChangeForm(request.POST or None, initial=initial, teams=catalog.teams())
    if request.method == "POST" and form.is_valid():
        try:
            accounts.change_person(
                user_id=user_id,
                role=form.cleaned_data["role"],
                teams=form.cleaned_data["teams"],
                active=form.cleaned_data["active"],
                by=_who(request),
            )
        except InvalidInput as error:
            show_problems(form, error)
        else:
            messages.success(request, f"{found.username} is changed.")
            return redirect("settings-people")
    context = {"tab": "people", "form": form, "person": found, "is_self": viewer_of(request).user_id == user_id}
    return render(request, "settings/person.html", context, status=_status(request, form.is_bound))


@require("settings")
@require_POST
def reset_password(request: HttpRequest, user_id: int) -> HttpResponse:
    found = selectors.person(user_id)
    if found is None:
        raise Http404
    password = accounts.generated_password()
    accounts.set_password(user_id=user_id, password=password, by=_who(request))
    return _people(request, PersonForm(teams=catalog.teams()), found.username, password)


@require("settings")
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    rows = selectors.audit_trail(limit=PAGE + 1, before_id=before(request.GET.get("before", "")))
    more = rows[PAGE - 1].id if len(rows) > PAGE else 0
    return render(request, "settings/audit.html", {"tab": "audit", "events": events(rows[:PAGE]), "more": more})


def _status(request: HttpRequest, with_problems: bool) -> int:
    return 400 if request.method == "POST" and with_problems else 200


urlpatterns = [
    path("settings", keys, name="settings"),
    path("settings/keys/<int:key_id>/revoke", revoke, name="settings-key-revoke"),
    path("settings/people", people, name="settings-people"),
    path("settings/people/<int:user_id>", person, name="settings-person"),
    path("settings/people/<int:user_id>/password", reset_password, name="settings-person-password"),
    path("settings/audit", audit, name="settings-audit"),
]
