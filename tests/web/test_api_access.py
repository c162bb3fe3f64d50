"""Who may call what, and that every failure of every endpoint has the one shape."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.accounts.models import Membership
from apps.accounts.services import authenticate_key, create_key, revoke_key
from apps.catalog.models import Team
from tests.web.api_kit import EXPORT, OUTCOMES, READING, REQUESTS, assert_described, assert_problem, bearer, get, key

pytestmark = pytest.mark.django_db

ENDPOINTS = [
    *[("get", f"/api/v1/{room}", "read") for room in READING],
    ("get", EXPORT, "export"),
    ("post", REQUESTS, "ingest"),
    ("post", OUTCOMES, "ingest"),
]
SCOPES = {"ingest", "read", "export"}


def call(method: str, path: str, headers: dict[str, Any] | None = None, client: Client | None = None) -> Any:
    if method == "get":
        return (client or Client()).get(path, headers=headers or {})
    return (client or Client()).post(path, b"{}", content_type="application/json", headers=headers or {})


@pytest.mark.parametrize(("method", "path", "scope"), ENDPOINTS)
def test_without_a_good_key_it_is_401_and_without_the_scope_403(method: str, path: str, scope: str) -> None:
    row, revoked = create_key(name="gone", scopes=SCOPES, actor="test")
    revoke_key(key_id=row.pk, actor="test")
    good = key(scope)
    wrong = good[:-1] + ("a" if good[-1] != "a" else "b")
    for presented in (
        None,
        bearer(wrong),
        bearer(revoked),
        bearer(""),
        bearer("not a key"),
        bearer("ifm_\u00e9"),
        {"X-API-Key": wrong},
        {"Authorization": "Basic YTpi"},
    ):
        response = call(method, path, presented)
        assert_problem(response, 401)
        assert_described(response, path, method)
    response = call(method, path, bearer(key(*(SCOPES - {scope}))))
    assert scope in assert_problem(response, 403)["detail"]
    assert_described(response, path, method)


@pytest.mark.parametrize(("method", "path", "scope"), ENDPOINTS)
def test_an_unknown_parameter_is_400_and_named(method: str, path: str, scope: str) -> None:
    response = call(method, f"{path}?colour=red", bearer(key(scope)))
    body = assert_problem(response, 400)
    assert [p["field"] for p in body["problems"] if p["code"] == "unknown_parameter"] == ["colour"]
    assert_described(response, path, method)


@pytest.mark.parametrize(("method", "path", "scope"), ENDPOINTS)
def test_the_other_method_is_405(method: str, path: str, scope: str) -> None:
    assert_problem(call("post" if method == "get" else "get", path, bearer(key(*SCOPES))), 405)


@pytest.mark.parametrize("path", ["/api/", "/api/v1", "/api/v1/usage/", "/api/v2/usage", "/api/v1/ingest"])
def test_an_unknown_address_is_404_in_the_same_shape(path: str) -> None:
    for method in ("get", "post"):
        assert_problem(call(method, path), 404)


def test_the_answer_is_json_whatever_is_accepted() -> None:
    for accept in ("text/html", "application/xml", "nonsense", "*/*"):
        response = Client().get("/api/v1/catalog", headers=bearer(key("read")) | {"Accept": accept})
        assert response.status_code == 200
        assert response["Content-Type"] == "application/json"


def test_no_cache_keeps_an_answer() -> None:
    for response in (get("/api/v1/catalog", key("read")), get("/api/v1/catalog", ""), get("/api/v1/nowhere", "")):
        assert response["Cache-Control"] == "no-store"
    assert get(EXPORT, key("export"), period="2026-11")["Cache-Control"] == "no-store"


def test_thousands_of_parameters_are_400() -> None:
    assert_problem(call("get", "/api/v1/usage?" + "&".join(f"a{n}=1" for n in range(2000)), bearer(key("read"))), 400)


def test_the_key_may_travel_in_either_header() -> None:
    secret = key("read")
    assert Client().get("/api/v1/catalog", headers={"X-API-Key": secret}).status_code == 200
    assert Client().get("/api/v1/catalog", headers={"Authorization": f"bearer {secret}"}).status_code == 200


def signed_in(role: str | None, *teams: int) -> Client:
    user = User.objects.create_user("someone", password="long enough for tests")
    if role is not None:
        Membership.objects.create(user=user, role=role, teams=list(teams))
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("role", "reads", "exports"),
    [
        ("admin", 200, 200),
        ("operator", 200, 200),
        ("analyst", 200, 200),
        ("lead", 200, 200),
        (None, 403, 403),
    ],
)
def test_a_signed_in_person_reads_with_the_session(role: str | None, reads: int, exports: int) -> None:
    client = signed_in(role, 1)
    for room in READING:
        assert client.get(f"/api/v1/{room}").status_code == reads
    assert client.get(EXPORT, {"period": "2026-11"}).status_code == exports


def test_nobody_sends_records_with_a_session() -> None:
    assert_problem(call("post", REQUESTS, client=signed_in("admin")), 401)


def test_a_wrong_key_is_not_saved_by_a_session() -> None:
    client = signed_in("admin")
    assert_problem(client.get("/api/v1/catalog", headers=bearer("ifm_wrong")), 401)


def test_a_lead_and_a_limited_key_know_their_teams_only() -> None:
    mine, other = Team.objects.create(slug="support", name="Support"), Team.objects.create(slug="search", name="Search")
    limited = key("read", teams=[mine.pk])
    body = get("/api/v1/catalog", limited).json()
    assert [team["slug"] for team in body["teams"]] == ["support"]
    assert body.keys() == {"teams"}
    body = assert_problem(get("/api/v1/usage", limited, team="search"), 400)
    assert body["problems"][0]["code"] == "unknown_value"
    assert "support" not in body["problems"][0]["message"]
    lead = signed_in("lead", mine.pk)
    assert [team["slug"] for team in lead.get("/api/v1/catalog").json()["teams"]] == ["support"]
    assert_problem(lead.get("/api/v1/costs", {"team": other.slug}), 400)


def test_an_error_that_nobody_foresaw_is_500_in_the_same_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("apps.catalog.selectors.names", broken)
    body = assert_problem(get("/api/v1/catalog", key("read")), 500)
    assert "secret" not in str(body)


def test_use_of_a_key_is_noted() -> None:
    row, secret = create_key(name="k", scopes={"read"}, actor="test")
    get("/api/v1/catalog", secret)
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert authenticate_key(secret) is not None


AWAY = """
import os, django
django.setup()
from django.conf import settings
from django.test import Client
key = "ifm_" + "a" * 10 + "_" + "b" * 40
for call in (
    lambda c: c.get("/api/v1/usage", headers={"Authorization": "Bearer " + key}),
    lambda c: c.post("/api/v1/ingest/requests", b"{}", "text/plain", headers={"X-API-Key": key}),
    lambda c: c.get("/api/v1/costs", headers={"Cookie": settings.SESSION_COOKIE_NAME + "=" + "a" * 32}),
):
    r = call(Client(raise_request_exception=False, SERVER_NAME="localhost"))
    print(r.status_code, r.headers.get("Retry-After"), r["Content-Type"])
"""


def test_a_database_that_is_away_is_503_with_retry_after() -> None:
    environment = os.environ | {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing",
        "DJANGO_SETTINGS_MODULE": "apps.config.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", AWAY], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == ["503 5 application/problem+json"] * 3, done.stderr
