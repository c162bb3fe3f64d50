"""Who sees what: Bob leads search and must find nothing of others; pages of the whole house are not for leads."""

from __future__ import annotations

import pytest

from tests.web.pages_kit import DETAILS, PAGES, main_of, table_of, text_of
from tests.web.people import People

pytestmark = pytest.mark.django_db
FOR_LEADS = ("/", "/tasks", "/teams", "/endpoints", "/models", "/requests")


def test_somebody_not_signed_in_is_sent_to_sign_in(full: People) -> None:
    for path in PAGES + DETAILS:
        response = full.stranger.get(path)
        assert response.status_code == 302 and response["Location"].startswith("/sign-in"), path
    fragment = full.stranger.get("/", headers={"HX-Request": "true"})
    assert fragment.status_code == 401 and fragment["HX-Redirect"].startswith("/sign-in")


def test_somebody_without_a_role_sees_no_figures(full: People) -> None:
    for path in PAGES:
        assert full.nobody.get(path).status_code == 403, path


@pytest.mark.parametrize("path", FOR_LEADS)
def test_a_lead_finds_nothing_of_other_teams(full: People, path: str) -> None:
    response = full.bob.get(f"{path}?range=24h")
    assert response.status_code == 200
    words = text_of(main_of(response))
    assert "Support" not in words and "Platform" not in words


def test_a_lead_cannot_ask_for_another_team(full: People) -> None:
    assert full.bob.get("/teams/support").status_code == 404
    assert full.bob.get("/teams/search").status_code == 200
    assert full.bob.get("/requests/task?task=t2").status_code == 404
    assert full.bob.get("/requests/task?task=t1").status_code == 200
    asked = text_of(main_of(full.bob.get("/requests?team=support")))
    assert "ignored team=support: there is no such team" in asked and "Support" not in asked


@pytest.mark.parametrize("path", [*FOR_LEADS, "/teams/search", "/models/llama"])
def test_a_lead_is_offered_only_what_own_teams_use(full: People, path: str) -> None:
    """Chat is the endpoint of the team support, and only support's."""
    every = full.alice.get(path).content.decode()
    assert "Chat" in text_of(every)
    of_bob = full.bob.get(path).content.decode()
    assert "Chat" not in text_of(of_bob) and 'value="chat"' not in of_bob
    if path == "/endpoints":
        assert "Answers" in text_of(of_bob)


def test_a_lead_cannot_open_what_own_teams_do_not_use(full: People) -> None:
    assert full.bob.get("/endpoints/chat").status_code == 404
    assert full.bob.get("/endpoints/answers").status_code == 200
    assert full.bob.get("/models/llama").status_code == 200
    assert full.charlie.get("/endpoints/answers").status_code == 404
    assert full.charlie.get("/endpoints/chat").status_code == 200
    assert full.alice.get("/endpoints/chat").status_code == full.alice.get("/endpoints/answers").status_code == 200
    filtered = text_of(main_of(full.bob.get("/?endpoint=chat")))
    assert "ignored endpoint=chat: there is no such endpoint" in filtered


def test_figures_of_a_lead_are_those_of_the_team(full: People) -> None:
    rows = table_of(full.bob.get("/?range=24h"), "Who and what it was spent on")
    assert [row[:2] for row in rows[1:]] == [["Search", "1.0000"], ["Total", "1.0000"]]


def test_pages_of_the_whole_house_are_not_for_leads(full: People) -> None:
    page = full.bob.get("/").content.decode()
    for path in ("/engines", "/data-health", "/data-health/rejected"):
        assert full.bob.get(path).status_code == 403
        assert f'href="{path}' not in page
    assert full.analyst.get("/engines").status_code == 200


def test_error_pages_are_our_own(full: People) -> None:
    missing = full.alice.get("/nowhere")
    assert missing.status_code == 404 and "There is no such page" in missing.content.decode()
    refused = full.bob.get("/engines")
    assert refused.status_code == 403 and "You may not open this page" in refused.content.decode()
