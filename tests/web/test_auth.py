"""Signing in and out, changing one's password, and what becomes of somebody who may not open a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from apps.accounts import services as accounts
from apps.accounts.domain.guessing import FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS
from apps.accounts.domain.roles import PERMISSIONS
from apps.dashboard.access import OPEN
from tests.web.people import PASSWORD, People, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return accounts.create_person(username="alice", password=PASSWORD, role="admin")


def sign_in(client: Client, password: str = PASSWORD, **more: str) -> int:
    return client.post(reverse("login"), {"username": "alice", "password": password, **more}).status_code


def test_a_page_sends_a_stranger_to_sign_in_and_back(alice: User, client: Client) -> None:
    answer = client.get("/settings/people?x=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/sign-in?next=%2Fsettings%2Fpeople%3Fx%3D1")
    form = client.get(answer.headers["Location"])
    assert form.context["next"] == "/settings/people?x=1"
    done = client.post(reverse("login"), {"username": "alice", "password": PASSWORD, "next": form.context["next"]})
    assert done.headers["Location"] == "/settings/people?x=1"
    assert client.get("/settings/people").status_code == 200


@pytest.mark.parametrize(
    "onward", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"]
)
def test_signing_in_leads_nowhere_else(alice: User, client: Client, onward: str) -> None:
    answer = client.post(reverse("login"), {"username": "alice", "password": PASSWORD, "next": onward})
    assert answer.headers["Location"] == "/"


def test_a_wrong_password_and_an_unknown_name_look_the_same(alice: User, client: Client) -> None:
    answers = [
        client.post(reverse("login"), {"username": name, "password": "wrong"}) for name in ("alice", "nobody-here")
    ]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert all("Name or password is not right." in answer.text for answer in answers)


def test_guessing_is_told_to_wait(alice: User, client: Client) -> None:
    codes = [sign_in(client, "wrong") for _ in range(FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS + 1)]
    assert codes == [400] * FAILURES_OF_ONE_NAME_FROM_ONE_ADDRESS + [429]
    assert sign_in(client) == 429
    assert sign_in(Client(REMOTE_ADDR="10.9.9.9")) == 302


def test_signing_out_takes_a_post_and_ends_the_session(alice: User, client: Client) -> None:
    client.force_login(alice)
    assert client.get(reverse("sign-out")).status_code == 405
    assert client.post(reverse("sign-out")).status_code == 302
    assert client.get(reverse("settings")).status_code == 302


def test_forms_need_their_token(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.post(reverse("login"), {"username": "alice", "password": PASSWORD}).status_code == 403


def test_changing_the_password_keeps_this_session_and_ends_the_others(alice: User, client: Client) -> None:
    other = Client()
    for session in (client, other):
        session.force_login(alice)
    new = "another long secret"
    data = {"current": PASSWORD, "password": new, "again": new}

    assert client.post(reverse("password"), data).status_code == 302

    assert client.get(reverse("password")).status_code == 200
    assert other.get(reverse("password")).status_code == 302
    assert sign_in(Client(), new) == 302


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"current": "wrong"}, "current"),
        ({"password": "short", "again": "short"}, "password"),
        ({"again": "something else entirely"}, "again"),
    ],
)
def test_a_password_that_cannot_be_changed_says_why(
    alice: User, client: Client, changes: dict[str, str], field: str
) -> None:
    client.force_login(alice)
    data = {"current": PASSWORD, "password": "another long secret", "again": "another long secret", **changes}
    answer = client.post(reverse("password"), data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert sign_in(Client()) == 302


def test_htmx_is_sent_to_sign_in_as_a_whole_page(client: Client) -> None:
    answer = client.get(
        "/catalog/teams", headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/catalog/prices"}
    )
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/sign-in?next=%2Fcatalog%2Fprices")


def test_pages_of_a_person_are_not_cached(alice: User, client: Client) -> None:
    client.force_login(alice)
    assert "no-store" in client.get(reverse("settings")).headers["Cache-Control"]


# Who may open what


@pytest.fixture
def world() -> People:
    return people()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/settings", {"alice"}),
        ("/settings/people", {"alice"}),
        ("/settings/audit", {"alice"}),
        ("/catalog/unclaimed", {"alice", "operator", "analyst"}),
        ("/catalog/teams", {"alice", "operator", "analyst"}),
        ("/catalog/prices", {"alice", "operator", "analyst"}),
        ("/catalog/history", {"alice", "operator", "analyst"}),
        ("/catalog/teams/new", {"alice", "operator"}),
        ("/catalog/prices/reviewer_hour", {"alice", "analyst"}),
        ("/account/password", {"alice", "bob", "charlie", "operator", "analyst", "nobody"}),
    ],
)
def test_who_may_open_a_page(world: People, path: str, allowed: set[str]) -> None:
    signed_in = ("alice", "bob", "charlie", "operator", "analyst", "nobody")
    codes = {name: getattr(world, name).get(path).status_code for name in signed_in}
    assert codes == {name: 200 if name in allowed else 403 for name in signed_in}
    assert world.stranger.get(path).status_code == 302


def views() -> Iterator[URLPattern]:
    def walk(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns)
            elif (pattern.callback.__module__ or "").startswith("apps.dashboard"):
                yield pattern

    return walk(get_resolver().url_patterns)


def test_every_page_says_who_may_open_it() -> None:
    marks = {str(pattern.pattern): getattr(pattern.callback, "permission", None) for pattern in views()}
    assert {name for name, mark in marks.items() if mark not in (*PERMISSIONS, OPEN)} == set()
    assert {name for name, mark in marks.items() if mark == OPEN} == {"sign-in", "sign-out"}


def test_the_sign_in_page_answers_those_who_only_look(client: Client) -> None:
    looked = client.head(reverse("login"))
    assert (looked.status_code, looked.content) == (200, b"")
