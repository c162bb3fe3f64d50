"""What ingest meets: unclaimed nouns for labels without an alias, in many workers at once; and what selectors tell."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalog import selectors, services
from apps.catalog.models import Alias, Change, Replica, Team
from apps.core.query import DIMENSIONS

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.django_db
def test_every_kind_of_label_becomes_an_unclaimed_noun() -> None:
    raws = {(kind, f"New {kind}!") for kind in DIMENSIONS}

    services.ensure_nouns(raws=raws)

    resolver = selectors.resolver()
    for dimension in DIMENSIONS:
        noun_id = resolver.resolve(dimension, f"New {dimension}!", NOW)
        assert noun_id
        name = selectors.names(dimension)[noun_id]
        assert (name.slug, name.name, name.claimed) == (f"new-{dimension}", f"New {dimension}!", False)
    assert {row.kind for row in selectors.unclaimed()} == set(DIMENSIONS)
    assert Replica.objects.get().deployment is None


@pytest.mark.django_db
def test_strange_labels_are_kept_apart() -> None:
    raws = ["a b", "a-b", "A_b", "团队", "小组", "x" * 600 + "1", "x" * 600 + "2", "nul\x00l", "\ud800", "-", "'; drop"]

    services.ensure_nouns(raws={("team", raw) for raw in raws})

    resolver = selectors.resolver()
    ids = [resolver.resolve("team", raw, NOW) for raw in raws]
    assert None not in ids
    assert len(set(ids)) == len(raws)
    assert len({team.slug for team in selectors.teams()}) == len(raws)


@pytest.mark.django_db
def test_names_of_strange_labels_can_be_shown() -> None:
    raws = ["pay\u202eroll", "a\x1b[31mb", "two\nlines", "\u200b\u2066"]

    services.ensure_nouns(raws={("team", raw) for raw in raws})

    assert {team.name for team in selectors.teams()} >= {"payroll", "a[31mb", "two lines"}
    assert all(team.name.isprintable() for team in selectors.teams())


@pytest.mark.django_db
def test_labels_that_are_known_are_left_alone_and_ask_only_once_a_kind() -> None:
    raws = {("team", "a"), ("model", "m"), ("team", "")}
    services.ensure_nouns(raws=raws)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        services.ensure_nouns(raws=raws)
    assert len(queries) == 2
    assert Alias.objects.count() == 2
    assert Change.objects.count() == 0


@pytest.mark.django_db
def test_one_address_is_one_replica() -> None:
    services.ensure_nouns(
        raws={("replica", "http://10.0.0.5:8000/v1"), ("replica", "10.0.0.5:8000"), ("replica", "http://10.0.0.5:8000")}
    )
    [replica] = selectors.replicas()
    [holding] = selectors.replica_holdings()
    assert (replica.name, replica.claimed) == ("10.0.0.5:8000", False)
    assert (holding.replica_id, holding.deployment_id, holding.gpu_type_id, holding.gpus) == (replica.id, 0, 0, None)


@pytest.mark.django_db
def test_a_label_whose_first_alias_is_later_gets_the_time_before_it() -> None:
    services.apply(
        document={"teams": [{"slug": "navy", "aliases": [{"raw": "blue", "from": "2026-07-01"}]}]},
        actor="test",
        dry_run=False,
    )
    assert selectors.resolver().resolve("team", "blue", NOW) is None
    services.ensure_nouns(raws={("team", "blue")})
    assert selectors.resolver().resolve("team", "blue", NOW)


@pytest.mark.django_db
def test_an_unknown_kind_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="planet"):
        services.ensure_nouns(raws={("planet", "mars")})


@pytest.mark.django_db(transaction=True)
def test_workers_that_meet_the_same_labels_at_once_create_each_once() -> None:
    raws = {("team", f"team {number % 7}") for number in range(20)} | {("key", "k")}

    def worker(_: int) -> None:
        try:
            services.ensure_nouns(raws=raws)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(worker, range(8)))

    assert Team.objects.count() == 7
    assert Alias.objects.count() == 8


@pytest.mark.django_db
def test_names_know_none_given_and_what_is_gone() -> None:
    names = selectors.names("team")
    assert names[0].name == "none given"
    assert names[4711].name == "merged or removed (number 4711)"
    assert not names[4711].claimed


@pytest.mark.django_db
def test_changes_are_counted_by_what_they_touch() -> None:
    assert selectors.latest_change() == 0
    Change.objects.create(what="labels", reason="x")
    newest = Change.objects.create(what="prices", reason="y").pk
    assert selectors.latest_change() == newest
    assert selectors.latest_change("labels") == newest - 1
    assert [change.what for change in selectors.changes_since(newest - 1)] == ["prices"]
    assert selectors.changes_since(newest) == []
