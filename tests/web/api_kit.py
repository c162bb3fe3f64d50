"""Keys, requests and shape checks for tests of the API."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import jsonschema
from django.test import Client

from apps.accounts.services import create_key
from apps.api.views.schema import document

PROBLEM_MEMBERS = {"type", "title", "status", "code", "detail", "problems"}
READING = ("usage", "costs", "tasks", "ledger", "catalog")
EXPORT = "/api/v1/exports/focus.csv"
REQUESTS, OUTCOMES = "/api/v1/ingest/requests", "/api/v1/ingest/outcomes"


def key(*scopes: str, teams: Iterable[int] | None = None) -> str:
    return create_key(name="test key", scopes=scopes, teams=teams, actor="test")[1]


def bearer(secret: str) -> dict[str, Any]:
    return {"Authorization": f"Bearer {secret}"}


def get(path: str, secret: str, /, **query: str) -> Any:
    names = {name.rstrip("_"): value for name, value in query.items()}
    return Client().get(path, names, headers=bearer(secret))


def read(room: str, secret: str, /, **query: str) -> Any:
    """A 200 of a reading endpoint, checked against its description."""
    response = get(f"/api/v1/{room}", secret, **query)
    assert response.status_code == 200, response.content
    assert_described(response, f"/api/v1/{room}")
    return response.json()


def post(path: str, body: bytes, secret: str, /, *, encoding: str = "", content_type: str = "text/plain") -> Any:
    headers = bearer(secret) | ({"Content-Encoding": encoding} if encoding else {})
    return Client().post(path, body, content_type=content_type, headers=headers)


def assert_described(response: Any, path: str, method: str = "get") -> None:
    """The answer is what the OpenAPI document says of this status."""
    described = document()["paths"][path][method]["responses"]
    assert str(response.status_code) in described, f"{response.status_code} of {path} is not described"
    content = described[str(response.status_code)]["content"]
    media_type = response["Content-Type"].split(";")[0]
    assert media_type in content, f"{media_type} of {path} is not described"
    schema = {**content[media_type]["schema"], "components": document()["components"]}
    jsonschema.Draft202012Validator(schema).validate(json.loads(response.content))


def assert_problem(response: Any, status: int) -> dict[str, Any]:
    """The answer is a failure of this status in the one shape."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body.keys() >= PROBLEM_MEMBERS
    assert body["status"] == status
    assert body["detail"]
    for problem in body["problems"]:
        assert problem.keys() == {"record", "field", "code", "message"}
        assert problem["code"] and problem["message"]
    if status == 401:
        assert response["WWW-Authenticate"].startswith("Bearer")
    return body
