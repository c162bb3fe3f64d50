"""A catalog file: applied, applied again, shown, merged with what ingest met; and what each write does to history."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.catalog import selectors, services
from apps.catalog.domain.document import read_text
from apps.catalog.models import TABLES, Alias, Change, Price, Replica, Team
from apps.core.errors import InvalidInput
from apps.core.time import EPOCH
from apps.core.unknown import Unknown

pytestmark = pytest.mark.django_db

JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def good_document() -> dict[str, Any]:
    return {
        "teams": [{"slug": "search", "name": "Search", "aliases": ["team-search", "Search"]}, {"slug": "platform"}],
        "gpu_types": [{"slug": "h100", "name": "H100 SXM", "memory_gib": 80}],
        "models": [{"slug": "granite", "name": "Granite", "aliases": ["ibm/granite"]}],
        "endpoints": [{"slug": "answers", "name": "Answers", "team": "search", "decision_window_hours": 24}],
        "deployments": [
            {
                "slug": "granite-pool",
                "model": "granite",
                "owner": "platform",
                "gpu_type": "h100",
                "gpus_per_replica": 2,
                "replicas": [
                    {
                        "slug": "granite-0",
                        "metrics_url": "http://10.0.0.5:8000/metrics",
                        "backends": ["http://10.0.0.5:8000/v1"],
                        "held_from": "2026-02-01",
                    }
                ],
            }
        ],
        "keys": [{"slug": "search-prod", "team": "search", "aliases": ["sk-...1234"]}],
        "prices": {
            "gpu_hour": [
                {"gpu_type": "h100", "amount": "2.50", "from": "2026-01-01", "source": "contract 17"},
                {"gpu_type": "h100", "amount": "2.25", "from": "2026-03-01", "source": "contract 18"},
            ],
            "reviewer_hour": [{"amount": 45, "from": "2026-01-01", "source": "guess", "assumed": True}],
        },
    }


def apply(document: object, *, dry_run: bool = False) -> Any:
    return services.apply(document=document, actor="test", dry_run=dry_run)


def test_a_file_fills_an_empty_catalog() -> None:
    difference = apply(good_document())

    assert not difference.is_empty
    [holding] = selectors.replica_holdings()
    assert (holding.slug, holding.gpus, holding.gpu_type_name) == ("granite-0", Decimal(2), "H100 SXM")
    assert holding.held_from == datetime(2026, 2, 1, tzinfo=UTC)
    resolver = selectors.resolver()
    search = Team.objects.get(slug="search").pk
    assert {resolver.resolve("team", raw, JANUARY) for raw in ("search", "Search", "team-search")} == {search}
    assert resolver.resolve("replica", "http://10.0.0.5:8000/v1/chat/completions", JANUARY) == holding.replica_id
    assert [(a.name, a.url) for a in selectors.scrape_addresses()] == [("granite-0", "http://10.0.0.5:8000/metrics")]


def test_the_file_in_the_docs_can_be_applied() -> None:
    text = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text().partition("```yaml\n")[2].partition("```")[0]
    document = read_text(text)

    assert not apply(document).is_empty
    assert apply(document).is_empty
    [gpu] = selectors.gpu_types()
    assert [p.amount for p in selectors.prices() if p.series.gpu_type_id == gpu.id] == [
        Decimal("2.50"),
        Decimal("2.25"),
    ]


def test_the_second_time_nothing_happens() -> None:
    apply(good_document())
    changes = Change.objects.count()

    difference = apply(good_document())

    assert difference.is_empty, list(difference.lines())
    assert difference.omitted == ()
    assert Change.objects.count() == changes


def test_a_dry_run_shows_the_same_steps_and_leaves_nothing() -> None:
    shown = apply(good_document(), dry_run=True)
    assert not Team.objects.exists()
    assert not Alias.objects.exists()
    assert not Change.objects.exists()

    done = apply(good_document())

    assert shown.steps == done.steps


def test_what_the_catalog_shows_can_be_applied_to_an_empty_one() -> None:
    apply(good_document())
    shown = selectors.document()
    assert apply(shown).is_empty

    for table in (Alias, Price, Replica):
        table.objects.all().delete()
    for kind in ("endpoint", "key", "deployment", "model", "gpu_type", "team"):
        TABLES[kind]._default_manager.all().delete()
    apply(shown)

    assert selectors.document() == shown


def test_each_price_ends_where_the_next_begins() -> None:
    apply(good_document())
    book = selectors.price_book()
    [gpu] = selectors.gpu_types()

    before = book.gpu_hour(gpu.id, datetime(2025, 12, 31, 23, tzinfo=UTC))
    assert isinstance(before, Unknown)
    assert before.reason == "no price for GPU type H100 SXM before 2026-01-01"
    assert [getattr(book.gpu_hour(gpu.id, at), "amount", None) for at in (JANUARY, MARCH)] == [
        Decimal("2.50"),
        Decimal("2.25"),
    ]


def test_a_changed_price_affects_only_the_span_that_costs_something_else() -> None:
    apply(good_document())
    newest = selectors.latest_change()
    document = good_document()
    document["prices"]["gpu_hour"].insert(
        1, {"gpu_type": "h100", "amount": "2.40", "from": "2026-02-01", "source": "addendum"}
    )

    apply(document)

    [change] = selectors.changes_since(newest)
    assert (change.what, change.affects_from, change.affects_until) == (
        "prices",
        datetime(2026, 2, 1, tzinfo=UTC),
        MARCH,
    )


def test_a_new_source_of_the_same_price_changes_no_hour() -> None:
    apply(good_document())
    newest = selectors.latest_change()
    document = good_document()
    document["prices"]["gpu_hour"][0]["source"] = "contract 17, page 4"

    assert not apply(document).is_empty
    assert selectors.changes_since(newest) == []


def test_names_in_the_file_win_over_what_ingest_created() -> None:
    services.ensure_nouns(raws={("team", "team-search"), ("team", "search"), ("replica", "http://10.0.0.5:8000/v1")})
    assert {t.claimed for t in selectors.teams()} == {False}
    newest = selectors.latest_change()

    difference = apply(good_document())

    assert {t.slug for t in selectors.teams()} == {"search", "platform"}
    assert all(t.claimed for t in selectors.teams())
    assert [r.slug for r in selectors.replicas()] == ["granite-0"]
    assert {m.kind for m in difference.merges} == {"team", "replica"}
    assert selectors.unclaimed() == []
    spans = {(c.affects_from, c.affects_until) for c in selectors.changes_since(newest) if c.what == "labels"}
    assert (None, None) in spans


def test_an_alias_of_a_later_date_leaves_the_time_before_it() -> None:
    services.ensure_nouns(raws={("team", "blue")})
    [old] = selectors.teams()
    newest = selectors.latest_change()

    apply({"teams": [{"slug": "navy", "aliases": [{"raw": "blue", "from": "2026-03-01"}]}]})

    resolver = selectors.resolver()
    navy = Team.objects.get(slug="navy").pk
    assert resolver.resolve("team", "blue", datetime(2026, 2, 28, 23, tzinfo=UTC)) == old.id
    assert resolver.resolve("team", "blue", MARCH) == navy
    assert [(c.what, c.affects_from, c.affects_until) for c in selectors.changes_since(newest)] == [
        ("labels", MARCH, None)
    ]


def test_a_label_that_was_never_met_changes_no_hour() -> None:
    apply({"teams": [{"slug": "new", "aliases": ["brand-new"]}]})
    assert selectors.latest_change() == 0


def test_what_the_file_omits_stays_and_is_named() -> None:
    apply(good_document())

    difference = apply({"teams": [{"slug": "search"}]})

    assert difference.is_empty
    assert "team platform" in difference.omitted
    assert "label 'team-search' of team search" in difference.omitted
    assert "GPU-hour h100 from 2026-01-01" in difference.omitted
    assert Team.objects.get(slug="search").name == "Search"


def test_all_problems_are_named_by_path_and_nothing_is_written() -> None:
    with pytest.raises(InvalidInput) as caught:
        apply(
            {
                "teams": [{"slug": "Bad Slug"}, {"slug": "a", "colour": "red"}, {"slug": "a"}],
                "endpoints": [{"slug": "e", "decision_window_hours": 0}],
                "deployments": [{"slug": "d", "replicas": [{"metrics_url": "ftp://x"}]}],
                "prices": {"gpu_hour": [{"gpu_type": "h100", "amount": -1, "from": "yesterday", "source": "x"}]},
                "plans": [],
            }
        )
    assert {p.field for p in caught.value.problems} == {
        "teams[0].slug",
        "teams[1].colour",
        "teams[2].slug",
        "endpoints[0].decision_window_hours",
        "deployments[0].replicas[0].slug",
        "deployments[0].replicas[0].metrics_url",
        "prices.gpu_hour[0].gpu_type",
        "prices.gpu_hour[0].amount",
        "prices.gpu_hour[0].from",
        "plans",
    }
    assert not Team.objects.exists()


def test_a_reference_to_nothing_is_a_problem_with_its_path() -> None:
    document = good_document()
    document["deployments"][0]["owner"] = "nobody"
    with pytest.raises(InvalidInput) as caught:
        apply(document)
    assert [p.field for p in caught.value.problems] == ["deployments[0].owner"]


def test_an_end_that_overlaps_the_next_price_is_refused() -> None:
    document = good_document()
    document["prices"]["gpu_hour"][0]["until"] = "2026-04-01"
    with pytest.raises(InvalidInput, match="overlaps the one from 2026-03-01"):
        apply(document)
    assert not Price.objects.exists()


def test_a_deployment_that_changes_its_gpus_affects_the_hours_its_replicas_held() -> None:
    apply(good_document())
    newest = selectors.latest_change()
    document = good_document()
    document["deployments"][0]["gpus_per_replica"] = 4

    apply(document)

    assert [(c.what, c.affects_from, c.affects_until) for c in selectors.changes_since(newest)] == [
        ("prices", datetime(2026, 2, 1, tzinfo=UTC), None)
    ]


@pytest.mark.parametrize(
    ("field", "value", "span"),
    [
        ("held_from", "2026-03-01", (datetime(2026, 2, 1, tzinfo=UTC), MARCH)),
        ("held_from", None, (None, datetime(2026, 2, 1, tzinfo=UTC))),
        ("held_until", "2026-05-01", (MAY, None)),
    ],
)
def test_a_moved_edge_of_holding_folds_the_hours_in_between(field: str, value: str | None, span: object) -> None:
    apply(good_document())
    newest = selectors.latest_change()
    document = good_document()
    document["deployments"][0]["replicas"][0][field] = value

    apply(document)

    assert [(c.what, (c.affects_from, c.affects_until)) for c in selectors.changes_since(newest)] == [("labels", span)]


def test_a_claim_with_a_name_keeps_the_noun() -> None:
    services.ensure_nouns(raws={("endpoint", "chat-v2")})
    [noun] = selectors.unclaimed()

    services.claim(kind="endpoint", noun_id=noun.id, name="Chat", slug="chat", audit=services.no_audit)

    [endpoint] = selectors.endpoints()
    assert (endpoint.id, endpoint.slug, endpoint.name, endpoint.claimed) == (noun.id, "chat", "Chat", True)
    assert selectors.resolver().resolve("endpoint", "chat-v2", JANUARY) == noun.id
    assert selectors.latest_change() == 0


def test_a_claim_into_a_known_noun_moves_labels_and_says_so() -> None:
    apply(good_document())
    services.ensure_nouns(raws={("team", "serach")})
    [typo] = selectors.unclaimed()
    newest = selectors.latest_change()
    search = Team.objects.get(slug="search")
    noted: list[str] = []

    difference = services.claim(
        kind="team", noun_id=typo.id, into=search.pk, audit=lambda action, subject, detail: noted.append(action)
    )

    assert selectors.resolver().resolve("team", "serach", JANUARY) == search.pk
    assert selectors.unclaimed() == []
    assert [(m.kind, m.old_id, m.new_id) for m in difference.merges] == [("team", typo.id, search.pk)]
    assert noted == ["catalog.merge"]
    assert [(c.what, c.affects_from, c.affects_until) for c in selectors.changes_since(newest)] == [
        ("labels", None, None)
    ]


def test_a_merged_team_hands_over_what_it_owned() -> None:
    apply(good_document())
    platform, search = Team.objects.get(slug="platform"), Team.objects.get(slug="search")

    services.claim(kind="team", noun_id=search.pk, into=platform.pk, audit=services.no_audit)

    assert {e.team_id for e in selectors.endpoints()} == {platform.pk}
    [key] = selectors.keys()
    assert key.team_id == platform.pk


def test_a_removed_price_gives_its_time_back_to_the_one_before() -> None:
    apply(good_document())
    newest = selectors.latest_change()
    march = Price.objects.get(effective_from=MARCH)

    services.remove_price(price_id=march.pk, audit=services.no_audit)

    [gpu] = selectors.gpu_types()
    price = selectors.price_book().gpu_hour(gpu.id, MAY)
    assert not isinstance(price, Unknown)
    assert price.amount == Decimal("2.50")
    assert [(c.what, c.affects_from, c.affects_until) for c in selectors.changes_since(newest)] == [
        ("prices", MARCH, None)
    ]


def test_a_removed_alias_falls_back_and_is_met_again() -> None:
    services.ensure_nouns(raws={("model", "m")})
    [alias] = selectors.aliases("model")
    newest = selectors.latest_change()

    services.remove_alias(alias_id=alias.id, audit=services.no_audit)

    assert selectors.resolver().resolve("model", "m", JANUARY) is None
    assert len(selectors.changes_since(newest)) == 1
    services.ensure_nouns(raws={("model", "m")})
    assert selectors.resolver().resolve("model", "m", JANUARY) is not None


def test_point_alias_moves_a_label_from_a_date() -> None:
    apply(good_document())
    platform = Team.objects.get(slug="platform")

    services.point_alias(
        kind="team", raw=" team-search ", target_id=platform.pk, valid_from=MARCH, audit=services.no_audit
    )

    resolver = selectors.resolver()
    assert resolver.resolve("team", "team-search", JANUARY) == Team.objects.get(slug="search").pk
    assert resolver.resolve("team", "team-search", MAY) == platform.pk
    assert Alias.objects.filter(raw="team-search", valid_from=EPOCH).exists()


def test_saving_a_noun_under_a_taken_slug_is_refused() -> None:
    apply(good_document())
    with pytest.raises(InvalidInput, match="another team"):
        services.save_noun(
            kind="team", noun_id=None, fields={"slug": "search", "name": "Other"}, audit=services.no_audit
        )


def test_a_catalog_without_prices_can_be_shown() -> None:
    assert selectors.document() == {}
    document = {name: value for name, value in good_document().items() if name != "prices"}
    apply(document)
    shown = selectors.document()
    assert "prices" not in shown
    assert apply(shown).is_empty


def test_every_problem_of_a_file_is_told_at_once() -> None:
    document = good_document()
    document["teams"].append({"slug": "Not a slug"})
    document["deployments"][0]["gpu_type"] = "h200"
    document["prices"] = {"gpu_hour": [{"gpu_type": "b200", "amount": 2, "from": "2026-01-01"}]}
    with pytest.raises(InvalidInput) as caught:
        apply(document)
    assert {(problem.field, problem.code) for problem in caught.value.problems} == {
        ("teams[2].slug", "invalid"),
        ("deployments[0].gpu_type", "unknown"),
        ("prices.gpu_hour[0].gpu_type", "unknown"),
        ("prices.gpu_hour[0].source", "missing"),
    }
