"""Days merged from hours: the same percentiles from fewer rows, and never those of hours folded since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest

from apps.core.histogram import Histogram
from apps.core.query import Filters
from apps.core.time import DAY, HOUR, Window
from apps.rollups.domain.usage import COUNTS, HISTOGRAMS
from apps.rollups.models import FoldedHour, LatencyDay, UsageHour
from apps.rollups.selectors import Usage, usage
from apps.rollups.services.days import merge_days

pytestmark = pytest.mark.django_db
START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + 3 * DAY)
EMPTY = Histogram().pack()


@pytest.fixture(autouse=True)
def _hours() -> None:
    """Three days; two teams, two models and two kinds of work an hour, each with latencies of its own."""
    random = np.random.default_rng(7)
    made = []
    for n in range(72):
        hour = START + n * HOUR
        FoldedHour.objects.create(hour=hour, arrival_version=1, catalog_change=0, as_of=hour, run_id=uuid4())
        for team in (1, 2):
            for work in (0, 1):
                packed = {name: Histogram.of(random.exponential(team, 20)).pack() for name in HISTOGRAMS}
                counts = dict.fromkeys(COUNTS, 0) | {"attempts": 20, "calls": 20}
                made.append(
                    UsageHour(
                        hour=hour, team_id=team, endpoint_id=1, model_id=1 + n % 2, replica_id=1, key_id=0,
                        work=work, status_group=0, traffic=0, **counts, **packed,
                    )
                )  # fmt: skip
    UsageHour.objects.bulk_create(made)


def every_question() -> list[list[Usage]]:
    """Whole days, days cut on both sides, within one day; grouped, filtered and in buckets."""
    windows = [WINDOW, Window(START + 5 * HOUR, START + 2 * DAY + HOUR), Window(START + HOUR, START + 2 * HOUR)]
    return [
        usage(window=window, group_by=group_by, bucket=bucket, filters=filters)
        for window in windows
        for group_by in ((), ("team",), ("team", "model"))
        for bucket in ("total", "day", "hour")
        for filters in (Filters(), Filters(team=frozenset({2})))
    ]


def test_days_answer_as_their_hours_do() -> None:
    from_hours = every_question()
    assert merge_days() == [START, START + DAY, START + 2 * DAY]
    assert LatencyDay.objects.count() == 3 * 2 * 2, "a row a day, team and model; work and status are merged too"
    assert every_question() == from_hours
    assert merge_days() == [], "nothing to do again"


def test_whole_days_are_read_as_days() -> None:
    merge_days()
    before = usage(window=WINDOW)
    UsageHour.objects.update(ttft=EMPTY)
    assert usage(window=WINDOW) == before
    cut = usage(window=Window(START + HOUR, START + DAY))[0]
    assert cut.ttft.count == 0, "a day of which an hour is missing is read as hours"


def test_a_day_with_an_hour_folded_since_is_read_as_hours_until_it_is_merged_again() -> None:
    merge_days()
    hour = START + DAY + timedelta(hours=3)
    UsageHour.objects.filter(hour=hour).update(ttft=EMPTY)
    FoldedHour.objects.filter(hour=hour).update(fold_id=uuid4())
    assert usage(window=WINDOW)[0].ttft.count == (72 - 1) * 4 * 20
    assert merge_days() == [START + DAY]
    assert usage(window=WINDOW)[0].ttft.count == (72 - 1) * 4 * 20


def test_deciding_again_merges_nothing() -> None:
    merge_days()
    FoldedHour.objects.update(run_id=uuid4())
    assert merge_days() == []


def test_a_day_that_is_not_over_is_merged_as_far_as_it_is() -> None:
    FoldedHour.objects.filter(hour__gte=START + 2 * DAY + 5 * HOUR).delete()
    UsageHour.objects.filter(hour__gte=START + 2 * DAY + 5 * HOUR).delete()
    merge_days()
    window = Window(START, START + 2 * DAY + 5 * HOUR)
    before = usage(window=window)
    UsageHour.objects.update(ttft=EMPTY)
    assert usage(window=window) == before
