"""The recording from bytes to cost per accepted task, against an account worked out from the raw files alone."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import transaction

from apps.attribution import selectors, services
from apps.attribution.models import LedgerLine, TaskCost
from apps.catalog import selectors as catalog
from apps.catalog import services as catalog_services
from apps.config.recording.replay import replay
from apps.core.query import Filters
from apps.core.time import Window
from apps.core.vocabulary import Component
from apps.rollups import selectors as facts
from apps.rollups import services as rollups

RECORDING = Path(__file__).parents[2] / "recordings" / "two-engines"
PRICE, REVIEW = Fraction(2), Fraction(45)
SEVEN = datetime(2026, 11, 30, 7, tzinfo=UTC)
WINDOW = Window(SEVEN, SEVEN + timedelta(hours=2))
NOW = SEVEN + timedelta(hours=2)
IN_MARCH = datetime(2027, 3, 1, tzinfo=UTC)  # every decision window is over


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def ledger(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The recording as recorded, folded and attributed, once for this module, and taken back after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        document = yaml.safe_load((RECORDING / "catalog.yaml").read_text())
        catalog_services.apply(document=document, actor="test", dry_run=False)
        replay(RECORDING, speed=None, shift_to_now=False, say=lambda text: None)
        rollups.fold_dirty(now=NOW)
        services.attribute_dirty(now=NOW)
        yield
        transaction.set_rollback(True)


def attempts() -> list[dict[str, Any]]:
    with gzip.open(RECORDING / "gateway.ndjson.gz") as lines:
        return [json.loads(line) for line in lines]


def slugs(dimension: Any) -> dict[int, str]:
    return {noun_id: name.slug for noun_id, name in catalog.names(dimension).items()}


def test_every_replica_hour_balances_and_the_sum_is_price_times_held(ledger: None) -> None:
    balances = selectors.replica_hour_balance(window=WINDOW)
    assert balances and all(balance.balanced for balance in balances)
    (cost,) = selectors.costs(window=WINDOW)
    assert not cost.partial
    gpus = {holding.replica_id: holding.gpus for holding in catalog.replica_holdings()}
    expected = sum(
        Fraction(gpus[row.replica_id] or 0) * PRICE * Fraction(row.held_us, 3600 * 10**6)
        for row in facts.replica_hours(WINDOW)
    )
    assert isinstance(cost.amount, Decimal)
    assert abs(Fraction(cost.amount) - expected) < Fraction(len(balances), 2 * 10**6)


def shares_by_team(port: str) -> dict[tuple[int, str], Fraction]:
    """Microseconds by (hour, team): at each instant of the raw log the time goes equally to the requests running.

    Refused requests (4xx but 499) use nothing; attempts without a token that failed are left to the test's tolerance.
    """
    moments: list[tuple[int, int, str]] = []
    for record in attempts():
        code = (record.get("error_information") or {}).get("error_code") or ""
        if port not in record["api_base"] or (code.startswith("4") and code != "499"):
            continue
        if record["status"] == "failure":
            continue
        team = record["metadata"]["user_api_key_team_id"]
        start, end = (round(record[name] * 10**6) for name in ("startTime", "endTime"))
        moments += [(start, 1, team), (end, -1, team)]
    running: defaultdict[str, int] = defaultdict(int)
    out: defaultdict[tuple[int, str], Fraction] = defaultdict(Fraction)
    hours = [int(SEVEN.timestamp()) * 10**6 + n * 3600 * 10**6 for n in (1, 2)]
    moments += [(hour, 0, "") for hour in hours]
    before = 0
    for at, change, team in sorted(moments):
        total = sum(running.values())
        if total:
            hour = datetime.fromtimestamp(before / 10**6, UTC).hour
            for name, count in running.items():
                out[hour, name] += Fraction((at - before) * count, total)
        running[team] += change
        before = at
    return out


def test_teams_pay_their_share_of_the_small_engines_time(ledger: None) -> None:
    """Fallbacks carry the start of their call, and land on the large engine: the small one has the plain times."""
    (replica,) = [holding.replica_id for holding in catalog.replica_holdings() if holding.slug == "granite-small-0"]
    expected = shares_by_team(":8101/")
    total = sum(share for (hour, _), share in expected.items() if hour == 7)
    names = slugs("team")
    lines = LedgerLine.objects.filter(hour=SEVEN, replica_id=replica)
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    for team, amount in lines.filter(component=Component.SHARED).values_list("team_id", "amount"):
        paid[names[team]] += amount
    assert set(paid) == {team for hour, team in expected if hour == 7}
    shared = sum(paid.values())
    for team, amount in paid.items():
        # failures without a token also held the engine for moments: under half a percent
        assert float(amount / shared) == pytest.approx(float(expected[7, team] / total), abs=0.005)


def test_review_costs_are_the_minutes_of_the_outcomes(ledger: None) -> None:
    expected = json.loads((RECORDING / "expected.json").read_text())["tasks_by_endpoint"]
    rows = selectors.task_costs(window=WINDOW, group_by=("endpoint",), now=IN_MARCH)
    by_endpoint = {slugs("endpoint")[row.ids["endpoint"]]: row for row in rows}
    for endpoint, figures in expected.items():
        row = by_endpoint[endpoint]
        assert (row.accepted + row.reworked, row.rejected, row.expired, row.tasks) == (
            figures["accepted"],
            figures["rejected"],
            figures["undecided"],
            figures["tasks"],
        )
        assert row.retried == figures["client_attempts_over_one"]
        assert isinstance(row.review, Decimal)
        # each cohort's minutes are rounded to a quantum once
        exact = REVIEW * Fraction(str(figures["review_minutes"])) / 60
        assert abs(Fraction(row.review) - exact) < Fraction(1, 10**4)


def test_tasks_cost_what_the_shared_lines_say(ledger: None) -> None:
    """Every attempt of the recording names a task, so nothing of the shared lines stays untasked."""
    assert all(record["metadata"]["requester_metadata"].get("task_id") for record in attempts())
    (cost,) = selectors.costs(window=WINDOW)
    (tasks,) = selectors.task_costs(window=WINDOW, now=IN_MARCH)
    assert tasks.serving == cost.components[Component.SHARED]
    assert tasks.pending == 0
    assert isinstance(tasks.total, Decimal)
    assert tasks.cost_per_accepted == tasks.total / tasks.accepted
    assert isinstance(tasks.escalations, Decimal) and tasks.escalations > 0
    assert isinstance(tasks.retries, Decimal) and tasks.retries > 0


def test_the_dead_route_costs_nothing(ledger: None) -> None:
    (model,) = [model.id for model in catalog.models() if model.slug == "granite-edge"]
    rows = selectors.costs(window=WINDOW, filters=Filters(model=frozenset({model})))
    assert [row.amount for row in rows] == [0]


def test_attributing_and_folding_again_changes_no_row(ledger: None) -> None:
    def rows() -> list[list[dict[str, Any]]]:
        kept = []
        for table in (LedgerLine, TaskCost):
            names = [f.attname for f in table._meta.fields if f.attname not in ("id", "run_id")]
            kept.append(sorted(table._default_manager.values(*names), key=str))
        return kept

    before = rows()
    rollups.fold_hour(hour=SEVEN, now=NOW)
    assert services.attribute_dirty(now=NOW)
    assert rows() == before
    services.attribute_all(now=NOW)
    assert rows() == before
