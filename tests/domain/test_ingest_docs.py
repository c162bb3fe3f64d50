"""docs/ingest.md names every field of our formats and has a section for every source."""

from __future__ import annotations

import re
from pathlib import Path

from apps.core.vocabulary import Operation, Status, Traffic
from apps.ingest.domain import outcomes
from apps.ingest.sources import litellm, native
from apps.ingest.sources.registry import REQUEST_SOURCES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "ingest.md").read_text()
SECTIONS = dict(zip(*[iter(re.split(r"^## (.*)$", TEXT, flags=re.M)[1:])] * 2, strict=True))


def documented(section: str) -> set[str]:
    rows = [line.split("|")[1] for line in SECTIONS[section].splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_source_has_its_section() -> None:
    assert {native.HEADING, litellm.HEADING} <= set(SECTIONS)
    assert {native.KIND: native, litellm.KIND: litellm} == REQUEST_SOURCES


def test_every_field_of_our_own_format_is_documented_and_no_other() -> None:
    assert documented(native.HEADING) == set(native.FIELDS)


def test_every_field_of_an_outcome_is_documented_and_no_other() -> None:
    assert documented("Outcomes") == set(outcomes.FIELDS)


def test_every_word_is_documented() -> None:
    for words in (Status.words(), Operation.words(), Traffic.words()):
        for word in words:
            assert f"`{word}`" in SECTIONS[native.HEADING], word
