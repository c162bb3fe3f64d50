"""Pages whose figures are known only in part: what they say is at least so much, or a dash with its reason."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest
from django.test import Client

from apps.attribution import services as attribution
from apps.attribution.models import TaskCost
from apps.catalog.models import Change
from apps.dashboard import format as words
from apps.dashboard.templatetags.figures import problems
from apps.ingest import services as ingest
from apps.rollups import services as rollups
from apps.rollups.models import FoldedHour, ReplicaHour
from tests.web import world
from tests.web.pages_kit import key_figure, main_of, table_of, text_of
from tests.web.people import people

pytestmark = pytest.mark.django_db
PAGES = (
    "/?range=24h",
    "/tasks?range=24h",
    "/teams?range=24h",
    "/teams/search?range=24h",
    "/models/llama?range=24h",
)
BY_GROUP = "Cost per accepted task by group"


@pytest.fixture
def alice(db: None) -> Client:
    world.build(datetime.now(UTC))
    return people().alice


def fold_long_ago() -> None:
    """Every hour of the world has been folded again since it was attributed."""
    for hour in FoldedHour.objects.all():
        hour.run_id = uuid4()
        hour.as_of = world.start_of(datetime.now(UTC))
        hour.save()


def test_what_waits_to_be_attributed_is_said_to_cost_at_least_so_much(alice: Client) -> None:
    fold_long_ago()
    for path in PAGES:
        assert "≥ —" not in text_of(main_of(alice.get(path))), path
    for path in ("/?range=24h", "/tasks?range=24h", "/teams/search?range=24h"):
        figure = key_figure(alice.get(path), "Cost per accepted task")
        assert "≥ $4.00" in figure and "not attributed yet" in figure, figure
        assert "%" not in figure
    assert "One accepted task cost at least $4.00" in text_of(main_of(alice.get("/?range=24h")))
    assert "One accepted task cost at least $4.00" in text_of(main_of(alice.get("/tasks?range=24h")))
    total = table_of(alice.get("/tasks?range=24h"), BY_GROUP)[-1]
    assert total[6] == "≥ 4.0000" and total[8].startswith("≥ 4.0000")


def test_decided_tasks_without_any_cost_yet_do_not_cost_nothing(alice: Client) -> None:
    """As between the fold of an outcome and the attribution that follows it."""
    TaskCost.objects.all().delete()
    fold_long_ago()
    for path in ("/?range=24h", "/tasks?range=24h", "/teams/search?range=24h"):
        response = alice.get(path)
        assert "not attributed yet" in key_figure(response, "Cost per accepted task")
        assert "$0" not in key_figure(response, "Cost per accepted task")
        page = text_of(main_of(response))
        assert "cost $0" not in page and "≥ —" not in page and "▼" not in page


def test_rows_add_up_to_the_total_where_review_has_no_price(alice: Client) -> None:
    """Search paid 1.00 for serving, and for review nobody knows what."""
    TaskCost.objects.filter(kind="review").update(amount=None, currency="", reason="no price for an hour of review")
    rows = table_of(alice.get("/tasks?range=24h"), BY_GROUP)
    answers = next(row for row in rows if row[0] == "Answers")
    assert answers[6] == rows[-1][6] == "≥ 1.0000"
    assert answers[7] == rows[-1][7] == answers[8].split()[0] == rows[-1][8].split()[0] == "—"


def test_replicas_whose_engine_is_not_measured_show_what_was_logged(alice: Client) -> None:
    logged = sum(row.logged_prompt_tokens + row.logged_generation_tokens for row in ReplicaHour.objects.all())
    assert logged > 0
    (row,) = [row for row in table_of(alice.get("/data-health"), "Coverage") if row[0] == "gpu-0"]
    assert row[1:] == [f"{logged:,}", "—", "—"]


def test_a_model_whose_attempts_all_failed_says_so_and_costs_what_is_not_known(db: None) -> None:
    now = datetime.now(UTC)
    failed = world.records(world.start_of(now))[2] | {"id": "z", "model": "granite"}
    world.build(now)
    ingest.ingest_requests(source=world.SOURCE, stream=world.body([failed]), now=now)
    rollups.fold_dirty(now=now)
    attribution.attribute_dirty(now=now)
    response = people().alice.get("/models/granite?range=24h")
    assert "100 % of them failed on our side" in key_figure(response, "Attempts")
    tile = key_figure(response, "Cost of its requests")
    assert "$0" not in tile and "nothing is attributed here in this range" in tile
    assert table_of(response, "By endpoint")[1][1] == "—"


def test_the_tasks_of_a_page_are_those_that_began_there(alice: Client) -> None:
    figure = key_figure(alice.get("/models/llama?range=24h"), "Cost per accepted task")
    assert "1 accepted of 1 decided tasks that began here" in figure


def test_the_reasons_of_a_rejected_record_are_apart_and_long_numbers_are_cut() -> None:
    shown = problems(f"input_tokens: {'9' * 400} is too many\nmodel: <b> is missing")
    assert shown == (
        "<bdi>input_tokens: 999999999999… (400 digits) is too many</bdi><br><bdi>model: &lt;b&gt; is missing</bdi>"
    )


@pytest.mark.parametrize(
    ("seconds", "expected"), [("0", "0.00 h"), ("900", "0.25 h"), ("36000", "10 h"), ("4464000", "1.24 k h")]
)
def test_seconds_in_hours(seconds: str, expected: str) -> None:
    assert words.hours(Decimal(seconds)) == expected


def test_data_health_counts_what_must_be_looked_into(alice: Client) -> None:
    ReplicaHour.objects.filter(busy_us__gt=0).update(idle_us=-1_000_000)
    page = text_of(main_of(alice.get("/data-health")))
    assert "1 finding to look into" in page and "nothing waits" not in page


def test_after_a_change_of_prices_pages_say_how_many_hours_are_computed_again(alice: Client) -> None:
    """The price holds for all three hours of the world; the present hour has facts as well, but is not over."""
    says = "3 hours of this range are being computed again after a change of names or prices"
    assert "being computed again" not in text_of(alice.get("/?range=24h").content.decode())
    changed = Change.objects.create(what="prices", affects_from=None, affects_until=None, reason="test")
    for path in ("/?range=24h", "/teams?range=24h", "/tasks?range=24h", "/models/llama?range=24h"):
        assert says in text_of(alice.get(path).content.decode()), path
    assert "3 hours are being computed again" in text_of(alice.get("/catalog/prices").content.decode())
    attribution.attribute_dirty(now=datetime.now(UTC))
    assert "being computed again" not in text_of(alice.get("/?range=24h").content.decode())
    Change.objects.filter(id=changed.id).update(what="labels", affects_from=world.start_of(datetime.now(UTC)))
    FoldedHour.objects.update(catalog_change=changed.id - 1)
    assert "being computed again" in text_of(alice.get("/teams?range=24h").content.decode())
