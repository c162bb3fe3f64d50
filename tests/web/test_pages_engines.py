"""The page of engines over real scrapes of the recording: what is drawn, what a gap looks like, who is named."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from apps.ingest import services as ingest
from apps.ingest.services import TargetSpec
from tests.web import world
from tests.web.pages_kit import figures_of, main_of, table_of, text_of
from tests.web.people import people

pytestmark = pytest.mark.django_db
PAGES = sorted((Path(__file__).parents[2] / "recordings/two-engines/metrics/granite-large-0").glob("*.prom.gz"))
EVERY = timedelta(seconds=15)
NOW = datetime.now(UTC).replace(second=0, microsecond=0)
START = NOW - timedelta(minutes=25)


@pytest.fixture(scope="module")
def alice(django_db_setup: None, django_db_blocker: Any) -> Iterator[Client]:
    """40 scrapes of a busy engine, four minutes of which nobody looked after the twentieth; a second engine is away."""
    with django_db_blocker.unblock(), transaction.atomic():
        world.build(NOW)
        specs = [TargetSpec("gpu-0", "http://127.0.0.1:9/metrics"), TargetSpec("gpu-1", "http://127.0.0.1:9/metrics")]
        ingest.replace_targets(targets=specs)
        from apps.ingest import selectors

        targets = {target.name: target.id for target in selectors.targets()}
        for place, page in enumerate(PAGES[40:80]):
            at = START + place * EVERY + (timedelta(minutes=4) if place >= 20 else timedelta(0))
            ingest.store_scrape(target_id=targets["gpu-0"], page=gzip.decompress(page.read_bytes()), at=at)
        ingest.store_failed_scrape(target_id=targets["gpu-1"], reason="connection refused", at=NOW)
        yield people().alice
        transaction.set_rollback(True)


def test_a_gap_is_drawn_as_a_gap(alice: Client) -> None:
    figure = figures_of(alice.get("/engines?range=1h"))["kv-figure"]
    (trace,) = figure["data"]
    values = trace["y"]
    first = next(place for place, value in enumerate(values) if value is not None)
    last = max(place for place, value in enumerate(values) if value is not None)
    missing = [place for place in range(first, last) if values[place] is None]
    assert trace["connectgaps"] is False
    assert 3 <= len(missing) <= 4, values
    assert missing == list(range(missing[0], missing[0] + len(missing)))
    assert all(0 <= value <= 1 for value in values if value is not None)


def test_the_table_names_engines_and_what_is_not_measured(alice: Client) -> None:
    rows = table_of(alice.get("/engines?range=1h"), "Replicas")
    seen = {row[0].split()[0]: row for row in rows[1:]}
    assert seen["gpu-0"][1] == "answers"
    assert seen["gpu-0"][4].endswith("%")
    assert seen["gpu-1"][1] == "unhealthy"
    assert seen["gpu-1"][4] == "—", "never scraped: unknown, not zero"


def test_data_health_says_why_an_engine_is_unhealthy(alice: Client) -> None:
    response = alice.get("/data-health")
    assert "connection refused" in text_of(main_of(response))
    assert "No answer from gpu-1" in text_of(main_of(response))


def test_long_ranges_are_thinned(alice: Client) -> None:
    for span in ("7d", "90d"):
        for figure in figures_of(alice.get(f"/engines?range={span}")).values():
            assert all(len(trace["y"]) <= 600 for trace in figure["data"])
