"""The catalog's file: what may stand in it, and how it says what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from apps.catalog.domain.document import noun_of, parse, price_of, read_text, write_text
from apps.core.errors import InvalidInput


def one(section: str, **fields: object) -> dict[str, Any]:
    return {section: [{"slug": "a", **fields}]}


def price(**changes: object) -> dict[str, Any]:
    return {
        "prices": {
            "gpu_hour": [{"gpu_type": "h100", "amount": "2.5", "from": "2026-01-01", "source": "list", **changes}]
        }
    }


@pytest.mark.parametrize(
    ("document", "path", "words"),
    [
        ([], "", ""),
        ("teams", "", "no mapping"),
        ({"team": []}, "team", "unknown key 'team'"),
        ({"teams": {}}, "teams", "no list"),
        ({"teams": ["search"]}, "teams[0]", "no mapping"),
        ({"teams": [{"name": "x"}]}, "teams[0].slug", "missing"),
        (one("teams", name=5), "teams[0].name", "put it in quotes"),
        (one("teams", name="  "), "teams[0].name", "empty"),
        (one("teams", name="a\x00b"), "teams[0].name", "cannot be stored"),
        (one("teams", name="x" * 201), "teams[0].name", "at most 200"),
        (one("teams", aliases="x"), "teams[0].aliases", "no list"),
        (one("teams", aliases=[7]), "teams[0].aliases[0].raw", "put it in quotes"),
        (one("teams", aliases=[{"from": "2026-01-01"}]), "teams[0].aliases[0]", "raw and from"),
        (one("teams", aliases=["x", "x "]), "teams[0].aliases[1]", "already at teams[0].aliases[0]"),
        (one("endpoints", team="Not A Slug"), "endpoints[0].team", "no slug"),
        (one("endpoints", decision_window_hours=True), "endpoints[0].decision_window_hours", "whole number"),
        (one("endpoints", decision_window_hours=0), "endpoints[0].decision_window_hours", "from 1 to 8760"),
        (one("gpu_types", memory_gib="lots"), "gpu_types[0].memory_gib", "not a number"),
        (one("deployments", gpus_per_replica=-1), "deployments[0].gpus_per_replica", "negative"),
        (one("deployments", gpus_per_replica="0.00001"), "deployments[0].gpus_per_replica", "too many digits"),
        (one("deployments", gpus_per_replica="inf"), "deployments[0].gpus_per_replica", "not a number"),
        (one("replicas", metrics_url="ftp://x"), "replicas[0].metrics_url", "no address"),
        (one("replicas", metrics_url="http://x:99999/"), "replicas[0].metrics_url", "no address"),
        (
            one("replicas", held_from="2026-02-01", held_until="2026-02-01"),
            "replicas[0].held_until",
            "later than held_from",
        ),
        ({"prices": []}, "prices", "no mapping"),
        (price(amount="-1"), "prices.gpu_hour[0].amount", "negative"),
        (price(amount="NaN"), "prices.gpu_hour[0].amount", "not a number"),
        (price(amount="1e400000000"), "prices.gpu_hour[0].amount", "digits"),
        (price(currency="dollar"), "prices.gpu_hour[0].currency", "three letters"),
        (price(until="2025-01-01"), "prices.gpu_hour[0].until", "later than from"),
        (price(assumed="yes"), "prices.gpu_hour[0].assumed", "neither true nor false"),
        (price(**{"from": "soon"}), "prices.gpu_hour[0].from", "no date"),
        (price(endpoint="x"), "prices.gpu_hour[0].endpoint", "unknown key"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(document: object, path: str, words: str) -> None:
    if document == []:
        assert parse(document).nouns == ()
        return
    with pytest.raises(InvalidInput) as caught:
        parse(document)
    assert (path, True) in [(p.field, words in p.message) for p in caught.value.problems], caught.value.problems


def test_dates_are_utc_unless_they_say_otherwise() -> None:
    document = parse(
        {
            "replicas": [
                {"slug": "a", "held_from": "2026-03-01T12:00:00+02:00", "held_until": "2026-03-02T00:00:00"},
            ]
        }
    )
    [replica] = document.nouns
    assert replica.fields["held_from"] == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert replica.fields["held_until"] == datetime(2026, 3, 2, tzinfo=UTC)


def test_backends_are_labels_of_a_replica_inside_its_deployment() -> None:
    document = parse(
        {
            "deployments": [
                {"slug": "d", "replicas": [{"slug": "r", "backends": ["http://h:8000/v1"], "aliases": ["r0"]}]}
            ]
        }
    )
    deployment, replica = document.nouns
    assert (deployment.kind, replica.kind, replica.fields["deployment"]) == ("deployment", "replica", "d")
    assert {alias.raw for alias in replica.aliases} == {"h:8000", "r0"}


def test_numbers_of_a_file_are_exact() -> None:
    document = parse(
        read_text(
            "gpu_types: [{slug: h100}]\n"
            "prices: {gpu_hour: [{gpu_type: h100, amount: 0.1000000001, from: 2026-01-01, source: list}]}"
        )
    )
    assert document.prices[0].amount == Decimal("0.1000000001")
    assert document.prices[0].effective_from == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("teams: [", "line 1"),
        ("teams: []\nteams: []", "line 2, column 1: the key 'teams' stands twice"),
        ("a: 2026-13-01", "month must be in 1..12"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
    ],
)
def test_text_that_is_no_file_says_where(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_text(text)


def test_written_text_reads_back() -> None:
    document = {"teams": [{"slug": "a", "name": "Zoë", "aliases": ["yes", "007", "2026-01-01"]}]}
    assert read_text(write_text(document)) == document


def test_one_noun_and_one_price_name_their_fields_alone() -> None:
    with pytest.raises(InvalidInput) as caught:
        noun_of("team", {"slug": "No Slug", "name": ""})
    assert {p.field for p in caught.value.problems} == {"slug", "name"}
    with pytest.raises(InvalidInput) as caught:
        price_of("gpu_hour", {"gpu_type": "h100", "amount": -1})
    assert {p.field for p in caught.value.problems} == {"amount", "from", "source"}
