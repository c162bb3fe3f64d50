"""What every answer carries, the health check, and the static files that packages bring along."""

from __future__ import annotations

import pytest
from django.contrib.staticfiles import finders
from django.core.cache import cache
from django.test import Client


@pytest.mark.django_db
def test_health_needs_no_sign_in_and_names_the_parts(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": answer.json()["version"], "database": "ok", "broker": "ok"}
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_health_says_which_part_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise ConnectionError("redis://user:secret@host is away")

    monkeypatch.setattr(cache, "get", away)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert (answer.json()["database"], answer.json()["broker"]) == ("ok", "unavailable")
    assert b"secret" not in answer.content


@pytest.mark.django_db
def test_every_answer_forbids_what_it_does_not_need(client: Client) -> None:
    for path in ("/healthz", "/nowhere", "/sign-in"):
        answer = client.get(path)
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self';" in policy and "unsafe" not in policy
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("name", ["plotly/plotly.min.js", "django_htmx/htmx-2.min.js"])
def test_scripts_come_out_of_the_installed_packages(name: str) -> None:
    found = finders.find(name)
    assert isinstance(found, str) and "site-packages" in found


def test_nothing_else_of_the_packages_is_served() -> None:
    assert finders.find("plotly/widgetbundle.js") is None
    listed = {
        f"{getattr(storage, 'prefix', '') or ''}/{path}".lstrip("/")
        for finder in finders.get_finders()
        for path, storage in finder.list([])
    }
    assert {name for name in listed if name.startswith(("plotly/", "django_htmx/"))} == {
        "plotly/plotly.min.js",
        "django_htmx/htmx-2.min.js",
    }
