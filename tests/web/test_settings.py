"""Settings: keys whose secret is shown once, people, the trail."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from apps.accounts import selectors
from apps.accounts import services as accounts
from apps.accounts.models import ApiKey
from apps.catalog import selectors as catalog
from tests.web.people import PASSWORD, People, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> People:
    return people()


def shown_secret(text: str) -> str:
    found = re.search(r'<code id="secret">([^<]+)</code>', text)
    assert found
    return found.group(1)


def test_a_new_key_is_shown_once_and_works(world: People) -> None:
    [search, _] = catalog.teams()
    answer = world.alice.post(
        reverse("settings"), {"name": "Finance sheet", "scopes": ["read", "export"], "teams": [search.id]}
    )
    key = shown_secret(answer.text)
    holder = accounts.authenticate_key(key)
    assert holder is not None
    assert (holder.name, holder.scopes, holder.teams) == ("Finance sheet", {"read", "export"}, {search.id})
    again = world.alice.get(reverse("settings"))
    assert key not in again.text
    assert f"ifm_{holder.prefix}_…" in again.text
    assert ApiKey.objects.get().created_by == User.objects.get(username="alice")


def test_a_key_without_a_team_reads_all(world: People) -> None:
    answer = world.alice.post(reverse("settings"), {"name": "gateway", "scopes": ["ingest"]})
    holder = accounts.authenticate_key(shown_secret(answer.text))
    assert holder is not None
    assert holder.teams is None


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"scopes": ["read"]}, "name"),
        ({"name": "k"}, "scopes"),
        ({"name": "k", "scopes": ["root"]}, "scopes"),
        ({"name": "k", "scopes": ["read"], "teams": ["99999"]}, "teams"),
    ],
)
def test_a_key_that_cannot_be_says_why(world: People, data: dict[str, object], field: str) -> None:
    answer = world.alice.post(reverse("settings"), data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert not ApiKey.objects.exists()


def test_a_revoked_key_is_refused_and_stays_listed(world: People) -> None:
    row, key = accounts.create_key(name="old", scopes=["read"])
    assert world.bob.post(reverse("settings-key-revoke", args=[row.pk])).status_code == 403
    assert accounts.authenticate_key(key)
    assert world.alice.get(reverse("settings-key-revoke", args=[row.pk])).status_code == 405
    answer = world.alice.post(reverse("settings-key-revoke", args=[row.pk]), follow=True)
    assert accounts.authenticate_key(key) is None
    assert "revoked" in answer.text


def test_a_new_person_gets_a_password_that_works(world: People) -> None:
    [search, _] = catalog.teams()
    answer = world.alice.post(reverse("settings-people"), {"username": "dora", "role": "lead", "teams": [search.id]})
    password = shown_secret(answer.text)
    assert accounts.try_sign_in(username="dora", password=password, address="x").user
    assert selectors.viewer(User.objects.get(username="dora")).teams == {search.id}
    assert password not in world.alice.get(reverse("settings-people")).text


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"username": "bob", "role": "analyst"}, "username"),
        ({"username": "dora", "role": "lead"}, "teams"),
        ({"username": "dora", "role": "king"}, "role"),
        ({"username": "", "role": "analyst"}, "username"),
    ],
)
def test_a_person_that_cannot_be_says_why(world: People, data: dict[str, str], field: str) -> None:
    before = User.objects.count()
    answer = world.alice.post(reverse("settings-people"), data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]
    assert User.objects.count() == before


def test_a_person_is_changed_and_given_a_new_password(world: People) -> None:
    bob = User.objects.get(username="bob")
    url = reverse("settings-person", args=[bob.pk])
    assert world.alice.get(url).context["form"].initial["role"] == "lead"
    assert world.alice.post(url, {"role": "analyst", "active": "on"}).status_code == 302
    assert world.bob.get("/catalog/teams").status_code == 200

    answer = world.alice.post(reverse("settings-person-password", args=[bob.pk]))
    assert accounts.try_sign_in(username="bob", password=PASSWORD, address="x").user is None
    assert accounts.try_sign_in(username="bob", password=shown_secret(answer.text), address="x").user
    assert world.bob.get("/catalog/teams").status_code == 302

    assert world.alice.post(url, {"role": "analyst"}).status_code == 302
    assert not User.objects.get(pk=bob.pk).is_active


def test_the_last_admin_stays(world: People) -> None:
    alice = User.objects.get(username="alice")
    answer = world.alice.post(reverse("settings-person", args=[alice.pk]), {"role": "analyst", "active": "on"})
    assert answer.status_code == 400
    assert "Somebody must be able to administer" in answer.text


def test_nobody_raises_themselves(world: People) -> None:
    bob = User.objects.get(username="bob")
    for client in (world.bob, world.operator, world.analyst):
        url = reverse("settings-person", args=[bob.pk])
        assert client.post(url, {"role": "admin", "active": "on"}).status_code == 403
        assert client.post(reverse("settings-people"), {"username": "x", "role": "admin"}).status_code == 403
        assert client.post(reverse("settings"), {"name": "k", "scopes": ["read"]}).status_code == 403
        assert client.post(reverse("settings-person-password", args=[bob.pk])).status_code == 403
    assert selectors.viewer(bob).role == "lead"
    assert not ApiKey.objects.exists()


def test_the_trail_names_who_did_what_and_no_secret(world: People) -> None:
    secret = shown_secret(world.alice.post(reverse("settings"), {"name": "gw", "scopes": ["ingest"]}).text)
    text = world.alice.get(reverse("settings-audit")).text
    assert "alice" in text
    assert "API key gw" in text
    assert secret not in text


@pytest.mark.parametrize("before", ["x", "-1", "9" * 40, "٣", ""])
def test_a_strange_page_of_the_trail_is_the_first(world: People, before: str) -> None:
    assert world.alice.get(reverse("settings-audit"), {"before": before}).status_code == 200


def test_strange_addresses_are_not_found(world: People) -> None:
    for path in ("/settings/people/999999", "/settings/people/99999999999999999999"):
        assert world.alice.get(path).status_code == 404
    assert Client().get("/settings/people/999999").status_code == 302
