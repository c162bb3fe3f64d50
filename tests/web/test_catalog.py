"""Catalog pages: claiming, editing, labels, prices that show their effect first; and the command of the same file."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from apps.accounts import selectors as accounts
from apps.catalog import selectors, services
from apps.core.unknown import Unknown
from apps.ingest.models import Target
from tests.web.people import People, people

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def world() -> People:
    return people()


def team(slug: str) -> selectors.Name:
    return next(name for name in selectors.names("team").values() if name.slug == slug)


def test_unclaimed_names_are_claimed_with_one_click(world: People) -> None:
    services.ensure_nouns(raws={("endpoint", "chat-v2")})
    assert world.alice.get(reverse("catalog")).headers["Location"] == reverse("catalog-unclaimed")
    page = world.alice.get(reverse("catalog-unclaimed"))
    assert "chat-v2" in page.text
    [row] = page.context["page"].object_list

    world.operator.post(reverse("catalog-claim"), {"kind": row.kind, "id": row.id, "name": row.name, "into": ""})

    assert selectors.unclaimed() == []
    assert world.alice.get(reverse("catalog")).headers["Location"] == reverse("catalog-section", args=["teams"])
    assert accounts.audit_trail(limit=1)[0].actor == "olga"


def test_a_typo_is_claimed_into_the_team_it_is(world: People) -> None:
    services.ensure_nouns(raws={("team", "serach")})
    [row] = selectors.unclaimed()

    world.alice.post(reverse("catalog-claim"), {"kind": "team", "id": row.id, "name": "serach", "into": "search"})

    assert selectors.resolver().resolve("team", "serach", NOW) == team("search").id
    assert len(selectors.teams()) == 2


def test_who_leads_a_team_leads_what_it_is_merged_into(world: People) -> None:
    world.alice.post(reverse("catalog-merge", args=["teams", team("search").id]), {"into": "support"})
    [support] = selectors.teams()
    [bob] = [person for person in accounts.people() if person.username == "bob"]
    assert bob.teams == {support.id}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "planet", "id": "1", "name": "x"},
        {"kind": "team", "id": "x", "name": "x"},
        {"kind": "team", "id": "999999", "name": "x"},
        {"kind": "team", "id": "9" * 17, "name": "x"},
    ],
)
def test_a_claim_of_nothing_changes_nothing(world: People, data: dict[str, str]) -> None:
    answer = world.alice.post(reverse("catalog-claim"), data, follow=True)
    assert answer.status_code == 200
    assert 'class="error"' in answer.text
    assert len(selectors.teams()) == 2


def test_reading_roles_change_nothing(world: People) -> None:
    posts = [
        (reverse("catalog-claim"), {"kind": "team", "id": str(team("search").id), "name": "x"}),
        (reverse("catalog-new", args=["teams"]), {"name": "x"}),
        (reverse("catalog-noun", args=["teams", team("search").id]), {"name": "x"}),
        (reverse("catalog-label", args=["teams", team("search").id]), {"raw": "x"}),
        (reverse("catalog-merge", args=["teams", team("search").id]), {"into": "support"}),
    ]
    newest = accounts.audit_trail(limit=1)
    for client in (world.bob, world.charlie, world.analyst, world.nobody):
        assert [client.post(url, data).status_code for url, data in posts] == [403] * len(posts)
    assert [world.stranger.post(url, data).status_code for url, data in posts] == [302] * len(posts)
    assert accounts.audit_trail(limit=1) == newest
    price = reverse("catalog-price", args=["reviewer_hour"])
    for client in (world.bob, world.operator, world.nobody):
        assert client.post(price, {}).status_code == 403
        assert client.post(reverse("catalog-price-remove", args=[1])).status_code == 403


def test_nouns_of_each_kind_are_made_and_edited_on_pages(world: People) -> None:
    def make(section: str, **data: object) -> None:
        answer = world.alice.post(reverse("catalog-new", args=[section]), data)
        assert answer.status_code == 302, answer.context["form"].errors

    make("models", name="Granite Small")
    make("gpu-types", name="H100", memory_gib="80")
    make("endpoints", name="Answers", team="search", decision_window_hours="24")
    make("deployments", name="Pool A", model="granite-small", owner="support", gpu_type="h100", gpus_per_replica="0.5")
    make(
        "replicas",
        name="Pool A 0",
        deployment="pool-a",
        metrics_url="http://10.0.0.5:8000/metrics",
        held_from="2026-02-01T06:30",
    )
    make("keys", name="Search production", team="search")

    [holding] = selectors.replica_holdings()
    assert (holding.slug, holding.gpus, holding.gpu_type_name) == ("pool-a-0", Decimal("0.5"), "H100")
    assert holding.owner_team_id == team("support").id
    assert holding.held_from == datetime(2026, 2, 1, 6, 30, tzinfo=UTC)
    assert Target.objects.get(enabled=True).url == "http://10.0.0.5:8000/metrics"
    [endpoint] = selectors.endpoints()
    assert (endpoint.team_id, endpoint.decision_window_hours) == (team("search").id, 24)

    url = reverse("catalog-noun", args=["replicas", holding.replica_id])
    form = world.alice.get(url).context["form"]
    assert 'value="2026-02-01T06:30:00"' in str(form["held_from"])
    answer = world.alice.post(url, {"name": "Pool A zero", "slug": "pool-a-0", "deployment": "pool-a"})
    assert answer.status_code == 302
    [replica] = selectors.replicas()
    assert (replica.name, replica.metrics_url, replica.held_from) == ("Pool A zero", "", None)
    assert not Target.objects.filter(enabled=True).exists()
    for section in ("teams", "endpoints", "models", "deployments", "replicas", "gpu-types", "keys"):
        assert world.analyst.get(reverse("catalog-section", args=[section])).status_code == 200


@pytest.mark.parametrize(
    ("section", "data", "field"),
    [
        ("teams", {}, "name"),
        ("teams", {"name": "Search"}, "slug"),
        ("teams", {"name": "x", "slug": "Not A Slug"}, "slug"),
        ("teams", {"name": "a\x00b"}, "name"),
        ("endpoints", {"name": "e", "team": "nowhere", "decision_window_hours": "1"}, "team"),
        ("endpoints", {"name": "e", "decision_window_hours": "0"}, "decision_window_hours"),
        ("deployments", {"name": "d", "gpus_per_replica": "-1"}, "gpus_per_replica"),
        ("replicas", {"name": "r", "metrics_url": "ftp://x"}, "metrics_url"),
        ("replicas", {"name": "r", "held_from": "2026-02-02T00:00", "held_until": "2026-02-01T00:00"}, "held_until"),
    ],
)
def test_what_cannot_be_says_why_beside_its_field(
    world: People, section: str, data: dict[str, str], field: str
) -> None:
    answer = world.alice.post(reverse("catalog-new", args=[section]), data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]


def test_saving_a_form_keeps_what_it_does_not_show(world: People) -> None:
    moment = datetime(2026, 2, 1, 6, 30, 5, 123456, tzinfo=UTC)
    services.apply(document={"replicas": [{"slug": "r", "held_from": moment}]}, actor="test", dry_run=False)
    [replica] = selectors.replicas()
    url = reverse("catalog-noun", args=["replicas", replica.id])
    form = world.alice.get(url).context["form"]
    data = {name: form[name].value() or "" for name in form.fields}
    world.alice.post(url, {**data, "held_from": "2026-02-01T06:30:05", "name": "R", "slug": ""})
    [saved] = selectors.replicas()
    assert (saved.name, saved.slug, saved.held_from) == ("R", "r", moment)


def test_labels_are_added_from_a_date_and_removed(world: People) -> None:
    search = team("search")
    url = reverse("catalog-label", args=["teams", search.id])
    world.alice.post(url, {"raw": "old-search", "valid_from": "2026-03-01T00:00"})
    assert selectors.resolver().resolve("team", "old-search", NOW) == search.id
    page = world.alice.get(reverse("catalog-noun", args=["teams", search.id]))
    [label] = [label for label in page.context["labels"] if label.raw == "old-search"]

    wrong = reverse("catalog-label-remove", args=["teams", team("support").id, label.id])
    assert world.alice.post(wrong).status_code == 404
    world.alice.post(reverse("catalog-label-remove", args=["teams", search.id, label.id]))
    assert selectors.resolver().resolve("team", "old-search", NOW) is None
    assert world.alice.post(url, {"raw": "   "}).status_code == 400


def test_a_price_shows_the_hours_it_changes_before_it_is_set(world: People) -> None:
    url = reverse("catalog-price", args=["reviewer_hour"])
    first = {"amount": "45", "currency": "usd", "effective_from": "2026-01-01T00:00", "source": "payroll"}
    shown = world.analyst.post(url, first)
    assert selectors.prices() == []
    assert shown.context["spans"] == ["from 2026-01-01 on"]
    digest = shown.context["digest"]

    changed = world.analyst.post(url, {**first, "amount": "46", "confirm": digest})
    assert selectors.prices() == []
    assert "This is what will change" in changed.text

    assert world.analyst.post(url, {**first, "confirm": digest}).status_code == 302
    second = {**first, "amount": "50", "effective_from": "2026-03-01T00:00", "assumed": "on"}
    shown = world.analyst.post(url, second)
    assert shown.context["spans"] == ["from 2026-03-01 on"]
    world.analyst.post(url, {**second, "confirm": shown.context["digest"]})

    book = selectors.price_book()
    amounts = [book.reviewer_hour(0, datetime(2026, month, 28, tzinfo=UTC)) for month in (2, 3)]
    assert [(p.amount, p.assumed) for p in amounts if not isinstance(p, Unknown)] == [(45, False), (50, True)]
    page = world.analyst.get(reverse("catalog-prices"))
    assert "45.00 USD" in page.text
    like = selectors.prices()[1].id
    assert world.analyst.get(url, {"like": like}).context["form"].initial["amount"] == "50.00"

    world.analyst.post(reverse("catalog-price-remove", args=[like]))
    [price] = selectors.prices()
    assert price.effective_until is None
    assert "anna" in world.analyst.get(reverse("catalog-history")).text


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amount": "-1"}, "amount"),
        ({"amount": "NaN"}, "amount"),
        ({"currency": "x"}, "currency"),
        ({"effective_from": ""}, "effective_from"),
        ({"effective_until": "2025-01-01T00:00"}, "effective_until"),
        ({"source": ""}, "source"),
        ({"endpoint": "nowhere"}, "endpoint"),
    ],
)
def test_a_price_that_cannot_be_says_why(world: People, changes: dict[str, str], field: str) -> None:
    data = {"amount": "45", "currency": "USD", "effective_from": "2026-01-01T00:00", "source": "x", **changes}
    answer = world.alice.post(reverse("catalog-price", args=["reviewer_hour"]), data)
    assert answer.status_code == 400
    assert list(answer.context["form"].errors) == [field]


@pytest.mark.parametrize("path", ["/catalog/planets", "/catalog/teams/999999", "/catalog/prices/beer"])
def test_strange_addresses_are_not_found(world: People, path: str) -> None:
    assert world.alice.get(path).status_code == 404


FILE = """
teams: [{slug: search, name: Search and find}]
gpu_types: [{slug: h100}]
deployments:
  - {slug: pool, owner: search, gpu_type: h100, replicas: [{slug: pool-0, metrics_url: "http://h:1/metrics"}]}
prices: {gpu_hour: [{gpu_type: h100, amount: 2.5, from: 2026-01-01, source: list}]}
"""


def test_the_command_shows_applies_and_shows_again(world: People, tmp_path: Path) -> None:
    file = tmp_path / "catalog.yaml"
    file.write_text(FILE)
    Target.objects.create(name="replayed", url="http://r/", enabled=True, recording=True)
    Target.objects.create(name="gone", url="http://g/", enabled=True)

    shown = io.StringIO()
    call_command("catalog", "apply", str(file), "--dry-run", stdout=shown)
    assert "~ change team search: name: Search -> Search and find" in shown.getvalue()
    assert "Not in the file, and left as it is: team support" in shown.getvalue()
    assert selectors.replicas() == []

    call_command("catalog", "apply", str(file), "--yes", stdout=io.StringIO())
    assert [replica.slug for replica in selectors.replicas()] == ["pool-0"]
    assert set(Target.objects.filter(enabled=True).values_list("name", flat=True)) == {"pool-0", "replayed"}
    assert {event.actor.partition(" (")[0] for event in accounts.audit_trail(action="catalog.create")} >= {
        "catalog apply"
    }

    again, printed = io.StringIO(), io.StringIO()
    call_command("catalog", "apply", str(file), "--yes", stdout=again)
    assert "The catalog is already as the file says." in again.getvalue()
    call_command("catalog", "show", stdout=printed)
    file.write_text(printed.getvalue())
    call_command("catalog", "apply", str(file), "--dry-run", stdout=again)
    assert again.getvalue().count("already as the file says") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [("teams: [", "line 1"), ("teams: [{slug: A B}]", "teams\\[0\\].slug"), ("\xff", "not UTF-8")],
)
def test_a_file_that_cannot_be_applied_says_where(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "catalog.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(CommandError, match=words):
        call_command("catalog", "apply", str(file), "--yes", stdout=io.StringIO())
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("catalog", "apply", str(tmp_path / "none.yaml"), "--yes", stdout=io.StringIO())
