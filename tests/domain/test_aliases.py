"""Raw labels: one spelling for each, the alias that holds at a date, slugs for what nobody has named."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.catalog.domain.aliases import KINDS, RAW_LENGTH, AliasRow, Resolver, free_slug, normalise, slug_of
from apps.core.query import DIMENSIONS
from apps.core.time import EPOCH

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


def test_labels_have_the_kinds_that_facts_have_dimensions() -> None:
    assert KINDS == DIMENSIONS


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("http://127.0.0.1:8101/v1/chat/completions", "127.0.0.1:8101"),
        ("127.0.0.1:8101", "127.0.0.1:8101"),
        ("127.0.0.1:8101/v1", "127.0.0.1:8101"),
        ("http://10.0.0.5:8000/metrics", "10.0.0.5:8000"),
        ("https://user:secret@Engine.Example:443/v1", "engine.example"),
        ("http://engine:80", "engine"),
        ("http://gateway/engine-a/v1/chat/completions", "gateway/engine-a"),
        ("http://gateway/engine-b/v1/", "gateway/engine-b"),
        ("http://[::1]:8101/v1", "[::1]:8101"),
        ("granite-small-0", "granite-small-0"),
        ("pool/granite", "pool/granite"),
        ("http://[broken", "http://[broken"),
        ("  x ", "x"),
        ("", ""),
        ("   ", ""),
    ],
)
def test_an_address_and_its_api_path_are_one_replica(raw: str, normal: str) -> None:
    assert normalise("replica", raw) == normal


def test_only_replicas_are_addresses() -> None:
    assert normalise("team", "http://127.0.0.1:8101/v1") == "http://127.0.0.1:8101/v1"


@given(st.sampled_from(KINDS), st.text(max_size=1200))
@settings(max_examples=150)
def test_a_normal_label_is_storable_stays_as_it_is_and_has_a_slug(kind: str, raw: str) -> None:
    normal = normalise(kind, raw)
    assert len(normal) <= RAW_LENGTH
    assert "\x00" not in normal
    normal.encode()
    assert normalise(kind, normal) == normal
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug_of(kind, raw))


def test_two_long_labels_stay_two() -> None:
    first, second = ("x" * 10_000 + end for end in "ab")
    assert normalise("key", first) != normalise("key", second)


@pytest.mark.parametrize(
    ("raw", "slug"),
    [
        ("Search Team", "search-team"),
        ("Qwen/Qwen2.5-7B", "qwen-qwen2-5-7b"),
        ("Zoë's crème", "zoe-s-creme"),
        ("x" * 300, "x" * 90),
        ("----", None),
        ("团队", None),
    ],
)
def test_slugs_remind_of_the_label(raw: str, slug: str | None) -> None:
    made = slug_of("team", raw)
    assert made == slug if slug else re.fullmatch(r"team-[0-9a-f]{8}", made)


def test_labels_without_letters_get_different_slugs() -> None:
    assert slug_of("team", "团队") != slug_of("team", "小组")


def test_a_taken_slug_is_numbered() -> None:
    assert free_slug("a", set()) == "a"
    assert free_slug("a", {"a", "a-2"}) == "a-3"


def test_an_alias_holds_from_its_date_until_the_next() -> None:
    resolver = Resolver(
        [AliasRow("team", "blue", 2, MARCH), AliasRow("team", "blue", 1, EPOCH), AliasRow("model", "blue", 9, EPOCH)]
    )
    assert resolver.resolve("team", "blue", EPOCH) == 1
    assert resolver.resolve("team", "blue", MARCH - INSTANT) == 1
    assert resolver.resolve("team", "blue", MARCH) == 2
    assert resolver.resolve("team", " blue ", MARCH) == 2
    assert resolver.resolve("model", "blue", MARCH) == 9


def test_no_label_is_none_given_and_a_strange_one_is_nobody() -> None:
    resolver = Resolver([AliasRow("team", "later", 1, MARCH)])
    assert resolver.resolve("team", "", MARCH) == 0
    assert resolver.resolve("team", "  ", MARCH) == 0
    assert resolver.resolve("team", "strange", MARCH) is None
    assert resolver.resolve("team", "later", MARCH - INSTANT) is None
