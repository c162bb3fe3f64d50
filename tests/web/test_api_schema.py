"""The OpenAPI document: valid, complete, and true of its own examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver
from drf_spectacular.validation import validate_schema

from apps.api import urls
from apps.api.domain.parameters import Accepted
from apps.api.views.schema import document


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_it_is_valid_and_open_to_all() -> None:
    validate_schema(document())
    response = Client().get("/api/schema")
    assert response.status_code == 200
    assert response.json()["openapi"].startswith("3.1")


def test_it_has_every_address() -> None:
    ours = {f"/api/{p.pattern}" for p in urls.urlpatterns if isinstance(p, URLPattern) and p.name != "missing"}
    assert set(document()["paths"]) == ours - {"/api/schema"}
    assert get_resolver().resolve("/api/v1/usage").url_name == "usage"


def test_everything_is_described() -> None:
    for path, method, operation in operations():
        assert operation["summary"] and operation["description"], path
        assert operation["security"] != [{}], path
        assert all(parameter["description"] for parameter in operation.get("parameters", [])), (path, method)
    for name, shape in document()["components"]["schemas"].items():
        assert shape["description"], name
        assert all("$ref" in part or part["description"] for part in shape["properties"].values()), name


def test_parameters_are_those_that_are_understood() -> None:
    for pattern in urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        accepted: Accepted | None = getattr(view, "accepted", None)
        if accepted is None or pattern.name == "catalog":
            continue
        described = document()["paths"][f"/api/{pattern.pattern}"]["get"]["parameters"]
        assert tuple(p["name"] for p in described if p["in"] == "query") == accepted.names()


@pytest.mark.parametrize("status", ["200", "207"])
def test_examples_are_what_they_illustrate(status: str) -> None:
    seen = 0
    for path, _, operation in operations():
        for content in operation["responses"].get(status, {}).get("content", {}).values():
            for example in content.get("examples", {}).values():
                schema = {**content["schema"], "components": document()["components"]}
                jsonschema.Draft202012Validator(schema).validate(example["value"])
                seen += 1
                assert path
    assert seen >= 2
