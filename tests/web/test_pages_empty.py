"""Pages before anything has come in, and pages whose money is not known."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from apps.catalog import services as catalog
from apps.core.time import hour_floor
from apps.dashboard.examples import CATALOG, examples
from apps.ingest import services as ingest
from apps.ingest.models import Source
from tests.web import world
from tests.web.pages_kit import PAGES, key_figure, main_of, table_of, text_of
from tests.web.people import People, people

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_page_says_what_to_do_next(empty: People, path: str) -> None:
    response = empty.alice.get(path)
    assert response.status_code == 200
    words = text_of(main_of(response))
    assert "$0" not in words
    expected = {
        "/engines": "metrics_url",
        "/data-health/rejected": "Nothing waits to be fixed",
    }.get(path, "/api/v1/ingest/requests")
    assert expected in words


@pytest.mark.parametrize("path", ["/", "/tasks", "/teams", "/models", "/engines", "/requests"])
def test_while_a_recording_is_laid_out_pages_say_so_and_look_again(empty: People, path: str) -> None:
    ingest.mark_recording(kinds=["litellm"], name="demo", scope="ifm_demo")
    ingest.ensure_target(spec=ingest.TargetSpec(name="gpu-0", url="", enabled=False, recording=True))
    main = main_of(empty.alice.get(path))
    assert "The recording is being laid out" in text_of(main) and "Three steps" not in text_of(main)
    assert 'data-refresh="5"' in main


def test_a_page_with_data_stops_looking_again_so_often() -> None:
    world.build(datetime.now(UTC))
    ingest.ensure_target(spec=ingest.TargetSpec(name="gpu-0", url="", enabled=False, recording=True))
    assert "data-refresh" not in main_of(people().alice.get("/?range=7d"))


def test_what_an_empty_page_says_to_type_is_accepted() -> None:
    now = datetime.now(UTC)
    lines = examples("http://inferometer.test", now)
    stored = ingest.ingest_requests(source=world.SOURCE, stream=lines.request.encode(), now=now)
    decided = ingest.ingest_outcomes(source=world.SOURCE, body=lines.outcome.encode(), now=now)
    assert (stored.stored, decided.stored) == (1, 1), (stored, decided)
    assert json.loads(lines.request)["id"] in lines.request_curl
    catalog.apply(document=yaml.safe_load(CATALOG), actor="test", dry_run=False)
    assert yaml.safe_load(lines.litellm)["callback_settings"]["inferometer"]["callback_type"] == "generic_api"


def test_without_a_price_quantities_stand_and_money_is_a_dash_with_its_reason() -> None:
    world.build(datetime.now(UTC), priced=False)
    alice = people().alice
    response = alice.get("/?range=24h")
    assert key_figure(response, "Spend").startswith("Spend ? — no price")
    assert "4 client requests" in key_figure(response, "Requests")
    rows = table_of(response, "Who and what it was spent on")
    search = next(row for row in rows if row[0] == "Search")
    assert search[1] == "—" and search[4] == "1"
    assert "$0" not in text_of(main_of(response))
    assert "not known" in text_of(main_of(alice.get("/tasks?range=24h")))


def test_a_rejected_record_can_be_fixed_and_sent_again() -> None:
    now = datetime.now(UTC)
    seen = people()
    bad = {**world.records(world.start_of(now))[0], "input_tokens": -5}
    answer = ingest.ingest_requests(source=world.SOURCE, stream=json.dumps(bad).encode(), now=now)
    assert answer.rejected == 1
    listed = seen.alice.get("/data-health/rejected")
    rows = table_of(listed, "Rejected records")
    number = rows[1][0]
    assert "input_tokens" in rows[1][4]
    page = f"/data-health/rejected/{number}"
    assert "Send again" not in seen.analyst.get(page).content.decode(), "an analyst may look"
    assert seen.analyst.post(page, {"payload": "{}"}).status_code == 422
    again = seen.operator.post(page, {"payload": json.dumps(bad)})
    assert again.status_code == 422 and "input_tokens" in text_of(main_of(again))
    good = seen.operator.post(page, {"payload": json.dumps({**bad, "input_tokens": 5_000})}, follow=True)
    assert f"Record {number} was sent again: stored." in text_of(main_of(good))
    assert "Nothing waits to be fixed" in text_of(main_of(good))


def test_a_rejected_record_can_be_discarded() -> None:
    now = datetime.now(UTC)
    seen = people()
    ingest.ingest_requests(source=world.SOURCE, stream=b'{"id": "x"}', now=now)
    number = table_of(seen.alice.get("/data-health/rejected"), "Rejected records")[1][0]
    path = f"/data-health/rejected/{number}/discard"
    assert seen.analyst.post(path).status_code == 403
    assert seen.operator.get(path).status_code == 405
    done = seen.operator.post(path, follow=True)
    assert f"Record {number} is discarded." in text_of(main_of(done))


def test_a_page_says_when_its_newest_figures_are_incomplete() -> None:
    now = datetime.now(UTC)
    world.build(now)
    alice = people().alice
    assert "are incomplete" not in alice.get("/").content.decode()
    Source.objects.update(last_seen_at=now - timedelta(minutes=20))
    assert "figures after that are incomplete" in alice.get("/").content.decode()
    past = world.start_of(now) - timedelta(days=2)
    finished = alice.get(f"/?from={past:%Y-%m-%d}&to={past:%Y-%m-%d}")
    assert "are incomplete" not in finished.content.decode(), "a range that is over is not"


def test_a_period_is_compared_with_the_one_before_once_the_data_reach_so_far() -> None:
    now = datetime.now(UTC)
    first, *_ = world.records(world.start_of(now))
    for name, hours in (("long ago", 60), ("the day before", 30)):
        start = hour_floor(now) - timedelta(hours=hours)
        moved = {"id": name, "started_at": start.isoformat(), "ended_at": (start + timedelta(minutes=5)).isoformat()}
        record = {key: value for key, value in first.items() if key not in ("first_token_at", "task_id")} | moved
        ingest.ingest_requests(source=world.SOURCE, stream=json.dumps(record).encode(), now=now)
    world.build(now)
    response = people().alice.get("/?range=24h")
    assert "compared with the 24 hours before" in text_of(main_of(response))
    assert "4 ▲ +300 % client requests" in key_figure(response, "Requests")
    rows = table_of(response, "Who and what it was spent on")
    support = next(row for row in rows if row[0] == "Support")
    assert support[rows[0].index("Change")] == "new", "from nothing is no percentage"
