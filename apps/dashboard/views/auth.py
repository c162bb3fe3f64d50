"""Signing in and out, and changing one's own password."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import path
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import services as accounts
from apps.core.errors import InvalidInput
from apps.dashboard.access import open_to_all, require
from apps.dashboard.forms import show_problems
from apps.dashboard.forms.auth import ChangePasswordForm, SignInForm

WRONG = "Name or password is not right."
WAIT = "Too many tries. Wait a quarter of an hour, or ask an admin for a new password."


@open_to_all
@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    onward = _onward(request)
    if request.user.is_authenticated:
        return redirect(onward)
    form = SignInForm(request.POST or None)
    status = 200
    if request.method == "POST" and form.is_valid():
        answer = accounts.try_sign_in(
            username=form.cleaned_data["username"],
            password=form.cleaned_data["password"],
            address=request.META.get("REMOTE_ADDR") or "local",
        )
        if answer.user is not None:
            login(request, answer.user)
            return redirect(onward)
        form.add_error(None, WAIT if answer.wait else WRONG)
        status = 429 if answer.wait else 400
    elif request.method == "POST":
        status = 400
    return render(request, "auth/sign_in.html", {"form": form, "next": onward}, status=status)


def _onward(request: HttpRequest) -> str:
    """Where to go then: an address of ours that was asked for, else the first page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts=None, require_https=request.is_secure())
    return wanted if ours else resolve_url(settings.LOGIN_REDIRECT_URL)


@open_to_all
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect(settings.LOGIN_URL)


@require("account")
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def change_password(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    form = ChangePasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _changed(request, user, form):
        messages.success(request, "Your password is changed. Other places where you were signed in are signed out.")
        return redirect("password")
    status = 400 if request.method == "POST" else 200
    return render(request, "auth/password.html", {"form": form}, status=status)


def _changed(request: HttpRequest, user: User, form: ChangePasswordForm) -> bool:
    # The same limit as at the door: a session that was left open is no place to guess in.
    check = accounts.try_sign_in(
        username=user.username,
        password=form.cleaned_data["current"],
        address=request.META.get("REMOTE_ADDR") or "local",
    )
    if check.user is None:
        form.add_error("current", WAIT if check.wait else "This is not your current password.")
        return False
    try:
        accounts.set_password(user_id=user.pk, password=form.cleaned_data["password"], by=user)
    except InvalidInput as error:
        show_problems(form, error)
        return False
    user.refresh_from_db()
    update_session_auth_hash(request, user)
    return True


urlpatterns = [
    path("sign-in", sign_in, name="login"),
    path("sign-out", sign_out, name="sign-out"),
    path("account/password", change_password, name="password"),
]
