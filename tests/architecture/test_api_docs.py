"""docs/api.md says what the API does: every address, parameter, status, scope and column of our own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.urls import URLPattern

from apps.accounts.models import Scope
from apps.api import urls
from apps.api.domain.focus.columns import CUSTOM
from apps.api.domain.parameters import DEFAULT_LIMIT, LARGEST_LIMIT
from apps.api.views.schema import document

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
ADDRESSES = sorted(f"/api/{p.pattern}" for p in urls.urlpatterns if isinstance(p, URLPattern) and p.name != "missing")


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_is_there_with_its_method_and_an_example(address: str) -> None:
    methods = document()["paths"].get(address, {"get": {}})
    assert all(f"`{method.upper()} {address}`" in DOCS for method in methods)
    assert address == "/api/schema" or f'"$INFEROMETER{address}' in DOCS


def test_every_address_that_is_told_exists() -> None:
    told = set(re.findall(r"/api/[a-z0-9/.]+", DOCS))
    assert told <= set(ADDRESSES)


def test_every_parameter_is_there() -> None:
    names = {
        parameter["name"]
        for methods in document()["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query"
    }
    assert all(f"`{name}`" in DOCS or f"?{name}=" in DOCS for name in names), names


def test_every_failure_and_scope_is_there() -> None:
    statuses = {
        status
        for methods in document()["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    assert all(re.search(rf"\b{status}\b", DOCS) for status in statuses)
    assert all(f"`{scope}`" in DOCS for scope in Scope.values)


def test_every_column_of_our_own_is_there() -> None:
    assert all(f"`{column}`" in DOCS for column in CUSTOM)
    assert set(re.findall(r"`(x_\w+)`", DOCS)) == set(CUSTOM)


def test_the_limits_are_there() -> None:
    assert f"({DEFAULT_LIMIT}; at most {LARGEST_LIMIT})" in DOCS
