"""Pages over a world worked out by hand (see `tests.web.world`): right numbers, columns that add up, one state."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.test import Client

from apps.dashboard.glossary import GROUPS
from tests.web.pages_kit import DETAILS, PAGES, figures_of, key_figure, main_of, table_of, text_of
from tests.web.people import People

pytestmark = pytest.mark.django_db
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def alice(full: People) -> Client:
    return full.alice


@pytest.mark.parametrize("path", PAGES + DETAILS)
def test_every_page_answers(alice: Client, path: str) -> None:
    response = alice.get(path)
    assert response.status_code == 200
    page = response.content.decode()
    assert page.count("<h1") == 1
    assert "style=" not in page and "onclick" not in page
    assert len(page) < 200_000


@pytest.mark.parametrize("path", PAGES)
def test_the_fragment_is_the_same_region_of_the_page(alice: Client, path: str) -> None:
    def steady(text: str) -> str:
        """Without what differs from one second to the next, or from one form to another."""
        text = re.sub(r"<time\b.*?</time>", "", text, flags=re.DOTALL)
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)

    whole, fragment = alice.get(path), alice.get(path, headers=FRAGMENT)
    assert steady(main_of(fragment)) == steady(main_of(whole))
    assert b"<html" not in fragment.content
    assert "HX-Request" in fragment["Vary"]
    restored = alice.get(path, headers={**FRAGMENT, "HX-History-Restore-Request": "true"})
    assert b"<html" in restored.content


def test_overview_says_what_was_spent_and_what_of_it_was_idle(alice: Client) -> None:
    response = alice.get("/?range=24h")
    assert "$6.00 spent" in text_of(main_of(response))
    assert "75.0 % of it paid for idle GPUs" in text_of(main_of(response))
    assert "$6.00 25.0 % of it used" in key_figure(response, "Spend")
    assert "$4.00 1 accepted of 1 decided · small sample" in key_figure(response, "Cost per accepted task")
    assert "4 client requests, in 4 attempts" in key_figure(response, "Requests")
    assert "2.40 k 2.00 k in, 400 out" in key_figure(response, "Tokens")
    assert "25.0 % 1 request failed on our side" in key_figure(response, "Error rate")
    # One streamed request, its first token after two seconds; histograms are within 1 %.
    assert re.search(r"p50 (1\.99|2\.00|2\.01) s", key_figure(response, "Time to first token"))


@pytest.mark.parametrize("by", ["team", "endpoint", "model"])
def test_rows_and_remainders_add_up_to_the_total_as_shown(alice: Client, by: str) -> None:
    rows = table_of(alice.get(f"/?range=24h&by={by}"), "Who and what it was spent on")
    cost = rows[0].index("Cost, USD")
    cells = [Decimal(row[cost]) for row in rows[1:-1]]
    assert sum(cells) == Decimal(rows[-1][cost]) == Decimal("6.00")
    assert any(row[0].startswith("Idle") and Decimal(row[cost]) == Decimal("4.5") for row in rows)


def test_teams_are_sorted_by_what_they_cost_and_can_be_sorted_otherwise(alice: Client) -> None:
    response = alice.get("/teams?range=24h")
    rows = table_of(response, "Cost and use by team")
    assert [(row[0], row[1]) for row in rows[1:3]] == [("Search", "1.0000"), ("Support", "0.5000")]
    assert re.search(r'aria-sort="descending">\s*<a [^>]*>Cost, USD', response.content.decode())
    by_requests = table_of(alice.get("/teams?range=24h&sort=-requests"), "Cost and use by team")
    assert [row[0] for row in by_requests[1:3]] == ["Support", "Search"]


def test_the_page_of_a_team_holds_only_its_own(alice: Client) -> None:
    response = alice.get("/teams/support?range=24h")
    assert "$0.5000" in key_figure(response, "Cost of its requests")
    assert "33.3 %" in key_figure(response, "Error rate")
    assert "Search" not in text_of(main_of(response).split("</details>", 2)[-1])


def test_cost_per_accepted_task_is_built_up_from_its_steps(alice: Client) -> None:
    response = alice.get("/tasks?range=24h")
    words = text_of(main_of(response))
    assert "One accepted task cost $4.00; 75.0 % of the money paid for review" in words
    assert "First tries the first attempt of every step $1.00 100 % 25.0 % $1.00" in words
    assert "Serving $1.00 100 % 25.0 % $1.00" in words
    assert "Review 3 minutes by people $3.00 75.0 % $3.00" in words
    assert "Total of decided tasks $4.00 100 % $4.00" in words
    assert "Pending still inside the decision window, in no number here 1" in words
    rows = table_of(response, "Cost per accepted task by group")
    answers = next(row for row in rows if row[0] == "Answers")
    assert answers[1:6] == ["1", "1", "0", "0", "100 %"]
    assert answers[8].startswith("4.0000")
    assert "small sample" in answers[8]
    chat = next(row for row in rows if row[0] == "Chat")
    assert chat[8] == "—"


def test_no_chart_needs_more_than_lines_and_bars_and_each_has_its_table(alice: Client) -> None:
    for path in PAGES + DETAILS:
        response = alice.get(path)
        page = response.content.decode()
        figures = figures_of(response)
        for figure in figures.values():
            assert {trace["type"] for trace in figure["data"]} <= {"scatter", "bar"}
        assert page.count('role="img"\n       aria-label') == page.count("Show as table") == len(figures)


def test_the_address_is_the_state(alice: Client) -> None:
    page = alice.get("/teams?range=24h&team=search&sort=-requests").content.decode()
    assert 'href="/teams?range=24h&amp;sort=-requests"' in page, "the chip takes only its filter away"
    assert 'href="/?range=24h&amp;team=search"' in page, "the navigation keeps range and filters"
    assert "range=7d" not in page, "defaults are not written"
    behind = re.search(r'href="/requests\?range=(\w+)', alice.get("/").content.decode())
    shown = re.search(r'id="range-(\w+)"[^>]*aria-current="true"', alice.get("/").content.decode())
    assert behind and shown and behind[1] == shown[1], "rows behind a number are those of its range"


def test_what_is_not_understood_is_named_and_ignored(alice: Client) -> None:
    words = text_of(main_of(alice.get("/?range=7x&team=sales&by=planet")))
    assert "ignored range=7x: use e.g. range=7d" in words
    assert "ignored team=sales: there is no such team" in words
    assert "ignored by=planet: use one of team, endpoint, model" in words


def test_without_data_before_nothing_is_compared_and_the_page_says_why(alice: Client) -> None:
    response = alice.get("/?range=24h")
    assert "Not compared with the 24 hours before: the data begin on" in text_of(main_of(response))
    assert "change--" not in main_of(response)


def test_assumed_prices_are_named_on_every_page_that_rests_on_them(alice: Client) -> None:
    assert "Assumed prices: $2.00 per GPU-hour (a list)" in text_of(alice.get("/?range=24h").content.decode())


def test_a_range_without_data_offers_the_nearest_that_has_some(alice: Client) -> None:
    response = alice.get("/?from=2026-01-01&to=2026-01-02")
    assert "Nothing in this range" in text_of(main_of(response))
    assert re.search(r'href="/\?from=\d{4}-\d\d-\d\d&amp;to=\d{4}-\d\d-\d\d"', response.content.decode())


def test_requests_can_be_looked_into(alice: Client) -> None:
    rows = table_of(alice.get("/requests"), "Requests, newest first")
    assert len(rows) == 5
    failed = table_of(alice.get("/requests?outcome=failed"), "Requests, newest first")
    assert [row[1] for row in failed[1:]] == ["server error 500"]
    assert len(table_of(alice.get("/requests?team=search"), "Requests, newest first")) == 2
    story = text_of(main_of(alice.get("/requests/task?task=t1")))
    assert "accepted" in story and "by desk" in story and "3.00 minutes" in story
    assert alice.get("/requests/task?task=nobody").status_code == 404


def test_pages_of_requests_follow_each_other_without_loss(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.dashboard.pages.requests.PAGE", 1)
    seen, path = [], "/requests"
    while path:
        response = alice.get(path)
        seen += [row[0] + row[1] for row in table_of(response, "Requests, newest first")[1:]]
        older = re.search(r'href="([^"]+)" rel="next"', response.content.decode())
        path = older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == len(set(seen)) == 4


def test_every_term_that_a_page_explains_is_in_the_glossary(alice: Client) -> None:
    known = {term.key for group in GROUPS for term in group.terms}
    for path in PAGES + DETAILS:
        linked = set(re.findall(r'href="/glossary#([\w-]+)"', alice.get(path).content.decode()))
        assert linked <= known
