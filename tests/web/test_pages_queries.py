"""What a page asks of the database: a handful of queries, whatever it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.test import Client

from tests.web.pages_kit import DETAILS, PAGES
from tests.web.people import People

pytestmark = pytest.mark.django_db
MOST = 19


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that goes to the server, also those that do not go through Django's cursor."""
    seen: list[str] = []
    for cursor in (psycopg.Cursor, psycopg.ServerCursor):
        execute = cursor.execute

        def noted(self: Any, query: Any, *rest: Any, execute: Any = execute, **named: Any) -> Any:
            seen.append(str(query))
            return execute(self, query, *rest, **named)

        monkeypatch.setattr(cursor, "execute", noted)
    yield seen


@pytest.mark.parametrize("path", (*PAGES, *DETAILS, "/endpoints/answers?range=1h", "/?range=1h", "/tasks?range=1h"))
def test_a_page_asks_few_questions(full: People, queries: list[str], path: str) -> None:
    """The last hour is compared with the one before: such pages show most."""
    response = full.alice.get(path)
    assert response.status_code == 200
    assert len(queries) <= MOST, "\n".join(query.strip()[:150] for query in queries)


def test_what_is_shown_as_a_table_is_read_no_more_often_for_more_rows(full: People, queries: list[str]) -> None:
    def asked(client: Client, path: str) -> int:
        queries.clear()
        client.get(path)
        return len(queries)

    assert asked(full.alice, "/?range=24h") == asked(full.alice, "/?range=24h&by=endpoint")
    assert asked(full.alice, "/teams?range=24h") == asked(full.alice, "/teams?range=24h&team=search,support")
