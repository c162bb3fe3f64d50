"""Tables as files: exactly the rows that the page shows, in full precision, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from decimal import Decimal

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from apps.accounts.domain.roles import Viewer
from apps.core.unknown import Unknown
from apps.dashboard import csv_file, state
from tests.web.pages_kit import main_of, table_of
from tests.web.people import People

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(full: People) -> Client:
    return full.alice


def rows_of(response: HttpResponse) -> list[dict[str, str]]:
    assert response["Content-Type"].startswith("text/csv")
    assert response.content.endswith(b"\r\n")
    return list(csv.DictReader(io.StringIO(response.content.decode())))


@pytest.mark.parametrize(
    ("path", "label", "first"),
    [
        ("/?range=24h&by=endpoint", "Who and what it was spent on", "endpoint"),
        ("/teams?range=24h&sort=-requests", "Cost and use by team", "team"),
        ("/models?range=24h&team=search", "Cost and use by model", "model"),
        ("/teams/search?range=24h", "By endpoint", "endpoint"),
        ("/tasks?range=24h&sort=name", "Cost per accepted task by group", "endpoint"),
    ],
)
def test_the_file_has_the_rows_that_the_page_shows(alice: Client, path: str, label: str, first: str) -> None:
    page = alice.get(path)
    shown = [row[0] for row in table_of(page, label)[1:]]
    assert f'href="{path.replace("&", "&amp;")}&amp;format=csv">CSV</a>' in main_of(page)
    rows = rows_of(alice.get(f"{path}&format=csv"))
    assert len(rows) == len(shown)
    assert all(text.startswith(row[first]) for text, row in zip(shown, rows, strict=True))


def test_costs_are_in_full_and_add_up(alice: Client) -> None:
    rows = rows_of(alice.get("/?range=24h&format=csv"))
    *parts, total = rows
    assert total["row"] == "total"
    assert sum(Decimal(row["cost_usd"]) for row in parts) == Decimal(total["cost_usd"]) == 6
    search = next(row for row in rows if row["team"] == "Search")
    assert (search["requests"], search["tokens"], search["error_ratio"]) == ("1", "1200", "0.0")
    assert search["cached_input_ratio"] == "0.25"
    assert search["basis"] == "allocation"
    assert search["from"].endswith(":00:00Z")
    assert search["coverage_ratio"] == "", "no engine is measured: unknown is empty, not zero"


def test_tasks_hold_the_steps_of_the_bridge(alice: Client) -> None:
    total = rows_of(alice.get("/tasks?range=24h&format=csv"))[-1]
    assert {name: Decimal(total[name]) for name in ("compute_usd", "review_usd", "total_usd")} == {
        "compute_usd": 1,
        "review_usd": 3,
        "total_usd": 4,
    }
    assert Decimal(total["cost_per_accepted_usd"]) == 4
    assert (total["tasks"], total["accepted"], total["pending"]) == ("2", "1", "1")


def test_leads_get_only_their_teams(full: People) -> None:
    assert [row["team"] for row in rows_of(full.bob.get("/teams?range=24h&format=csv"))] == ["Search", "Total"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "\t=1"])
def test_text_is_no_formula(alice: Client, text: str) -> None:
    request = RequestFactory().get("/")
    request.viewer = Viewer("admin", None, 1, "alice")  # type: ignore[attr-defined]
    page = replace(state.read(request), path="/")
    response = csv_file.respond(page, "x", ["a", "b", "c"], [[text, Decimal("-1E-7"), Unknown("why")]], {"d": 'x,"y"'})
    (row,) = rows_of(response)
    assert (row["a"], row["b"], row["c"], row["d"]) == (f"'{text}", "-0.0000001", "", 'x,"y"')
