"""The recording of two engines, ingested and folded: all figures of its expected.json, others from its raw lines."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import transaction
from django.db.models import Model, Sum

from apps.catalog import selectors as catalog
from apps.catalog import services as catalog_services
from apps.core.histogram import Histogram
from apps.core.query import Dimension, Filters
from apps.core.time import HOUR, Window, hour_floor
from apps.core.vocabulary import Decision, Work
from apps.ingest import services as ingest
from apps.rollups import selectors, services
from apps.rollups.domain.sharing import UNITS_PER_US
from apps.rollups.models import CallLink, ReplicaHour, TaskCohort, TaskHour, TaskPieces, TaskShare, UsageHour
from apps.rollups.selectors import Usage

pytestmark = pytest.mark.django_db

RECORDING = Path(__file__).parents[2] / "recordings" / "two-engines"
EXPECTED: dict[str, Any] = json.loads((RECORDING / "expected.json").read_text())
WINDOW = Window(datetime(2026, 11, 30, 7, tzinfo=UTC), datetime(2026, 11, 30, 9, tzinfo=UTC))
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)

COUNTS = {
    "attempts": "attempts",
    "ok": "ok",
    "aborted": "aborted",
    "client_error": "client_error",
    "server_error": "server_error",
    "rate_limited": "rate_limited",
    "prompt_tokens": "input_tokens",
    "cached_prompt_tokens": "cache_read_tokens",
    "completion_tokens": "output_tokens",
}


def lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(RECORDING / name) as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def raw() -> list[dict[str, Any]]:
    return lines("gateway.ndjson.gz")


@pytest.fixture(scope="module", autouse=True)
def _folded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The whole recording, stored and folded once for this module, and taken back after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        store()
        services.fold_dirty(now=NOW)
        yield
        transaction.set_rollback(True)


def store() -> None:
    catalog_services.apply(
        document=yaml.safe_load((RECORDING / "catalog.yaml").read_text()), actor="test", dry_run=False
    )
    body = gzip.decompress((RECORDING / "gateway.ndjson.gz").read_bytes())
    ingest.ingest_requests(source=ingest.SourceRef("gateway", "litellm"), stream=body, now=NOW)
    body = gzip.decompress((RECORDING / "outcomes.ndjson.gz").read_bytes())
    ingest.ingest_outcomes(source=ingest.SourceRef("evaluator", "outcomes"), body=body, now=NOW)
    for replica in EXPECTED["engines"]:
        target = ingest.ensure_target(spec=ingest.TargetSpec(name=replica, url=""))
        for file in sorted((RECORDING / "metrics" / replica).glob("*.prom.gz")):
            at = datetime.fromtimestamp(int(file.name.split(".")[0]), UTC)
            ingest.store_scrape(target_id=target, page=gzip.decompress(file.read_bytes()), at=at)


def by_slug(dimension: Dimension) -> dict[str, Usage]:
    names = catalog.names(dimension)
    return {names[row.ids[dimension]].slug: row for row in selectors.usage(window=WINDOW, group_by=(dimension,))}


def key_of(record: dict[str, Any]) -> str:
    return str(record["metadata"]["user_api_key_alias"])


def team_of(record: dict[str, Any]) -> str:
    return str(record["metadata"]["user_api_key_team_id"])


def endpoint_of(record: dict[str, Any]) -> str:
    return str(record["metadata"]["user_api_key_auth_metadata"]["endpoint"])


def task_of(record: dict[str, Any]) -> str | None:
    return (record["metadata"]["requester_metadata"] or {}).get("task_id")


def is_ok(record: dict[str, Any]) -> bool:
    return record["status"] == "success" and (record.get("error_information") or {}).get("error_code") != "499"


def nearest_rank(values: list[float], q: float) -> float:
    return sorted(values)[max(1, math.ceil(q * len(values))) - 1]


@pytest.mark.parametrize("group", EXPECTED["groups"])
def test_counts_and_tokens(group: str) -> None:
    if group == "all":
        (row,) = selectors.usage(window=WINDOW)
    else:
        dimension, _, slug = group.partition("=")
        row = by_slug(dimension)[slug]  # type: ignore[arg-type]
    expected = EXPECTED["groups"][group]
    assert {name: getattr(row, ours) for name, ours in COUNTS.items()} == {
        name: expected.get(name, 0) for name in COUNTS
    }


@pytest.mark.parametrize("model", EXPECTED["latency_by_model"])
def test_latency(model: str) -> None:
    expected, row = EXPECTED["latency_by_model"][model], by_slug("model")[model]
    assert (row.e2e.count, row.ttft.count) == (expected["ok"], expected["streamed"])
    for name in ("ttft", "e2e"):
        for percent in (50, 95):
            wanted = expected[f"{name}_p{percent}_seconds"]
            found = getattr(row, name).quantile(percent / 100)
            assert found is None if wanted is None else found == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize("endpoint", EXPECTED["tasks_by_endpoint"])
def test_tasks(endpoint: str) -> None:
    expected = EXPECTED["tasks_by_endpoint"][endpoint]
    slugs = {name.slug: name.id for name in catalog.names("endpoint").values()}
    rows = selectors.cohorts(window=WINDOW, filters=Filters(endpoint=frozenset({slugs[endpoint]})))
    tasks = Counter({Decision(row.decision): row.tasks for row in rows})
    assert {
        "accepted": tasks[Decision.ACCEPTED],
        "rejected": tasks[Decision.REJECTED],
        "undecided": tasks[Decision.UNDECIDED],
        "tasks": sum(tasks.values()),
        "client_attempts_over_one": sum(row.retried_tasks for row in rows),
        "review_minutes": float(sum(row.review_minutes for row in rows)),
    } == expected


def test_client_requests_and_tasks() -> None:
    (row,) = selectors.usage(window=WINDOW)
    assert row.calls == EXPECTED["distinct_call_ids"]
    assert sum(cohort.tasks for cohort in selectors.cohorts(window=WINDOW)) == EXPECTED["tasks"]


def test_tokens_that_the_engines_counted() -> None:
    names = catalog.names("replica")
    found = {names[row.replica_id].slug: row for row in selectors.coverage(WINDOW)}
    for slug, engine in EXPECTED["engines"].items():
        assert found[slug].counted_prompt_tokens == engine["prompt_tokens_total"]
        if "generation_tokens_total" in engine:
            assert found[slug].counted_generation_tokens == engine["generation_tokens_total"]
        assert found[slug].share == pytest.approx(1, abs=0.03)
    rows = selectors.replica_hours(WINDOW)
    assert selectors.coverage_of(rows) == selectors.coverage(WINDOW)
    for slug, engine in EXPECTED["engines"].items():
        mine = [row for row in rows if names[row.replica_id].slug == slug and row.scrapes]
        assert sum(row.scrapes for row in mine) == engine["scrapes"]
        assert sum(row.restarts for row in mine) == engine["counter_resets"]
        assert sum(row.preemptions or 0 for row in mine) == engine["num_preemptions_total"]
        assert sum(row.cached_prompt_tokens or 0 for row in mine) == engine["prompt_tokens_cached_total"]
        assert max(row.kv_usage_max or 0 for row in mine) == pytest.approx(engine["max_kv_cache_usage_perc"])


def test_keys_by_the_raw_lines(raw: list[dict[str, Any]]) -> None:
    found = by_slug("key")
    for key in {key_of(record) for record in raw}:
        mine = [record for record in raw if key_of(record) == key]
        assert found[key].attempts == len(mine)
        assert found[key].ok == sum(map(is_ok, mine))
        assert found[key].calls == len({record["litellm_call_id"] for record in mine})
        assert found[key].output_tokens == sum(record["completion_tokens"] for record in mine)


def test_teams_by_models_by_the_raw_lines(raw: list[dict[str, Any]]) -> None:
    teams, models = catalog.names("team"), catalog.names("model")
    found = {
        (teams[row.ids["team"]].slug, models[row.ids["model"]].slug): (row.attempts, row.input_tokens, row.streamed)
        for row in selectors.usage(window=WINDOW, group_by=("team", "model"))
    }
    expected: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in raw:
        sums = expected[team_of(record), record["model_group"]]
        sums[0] += 1
        sums[1] += record["prompt_tokens"]
        sums[2] += record["stream"] is True
    assert found == {pair: tuple(sums) for pair, sums in expected.items()}


def test_latency_of_teams_by_the_raw_lines(raw: list[dict[str, Any]]) -> None:
    found = by_slug("team")
    assert len(teams := {team_of(record) for record in raw}) == 5
    for team in teams:
        mine = [record for record in raw if team_of(record) == team and is_ok(record)]
        streamed = [record for record in mine if record["stream"]]
        ttft = [record["completionStartTime"] - record["startTime"] for record in streamed]
        itl = [
            (record["endTime"] - record["completionStartTime"]) / (record["completion_tokens"] - 1)
            for record in streamed
            if record["completion_tokens"] > 1
        ]
        assert (found[team].ttft.count, found[team].itl.count) == (len(ttft), len(itl))
        for q in (0.5, 0.95, 0.99) if itl else ():
            assert found[team].ttft.quantile(q) == pytest.approx(nearest_rank(ttft, q), rel=0.01)
            assert found[team].itl.quantile(q) == pytest.approx(nearest_rank(itl, q), rel=0.01)


def test_attempts_by_hour_by_the_raw_lines(raw: list[dict[str, Any]]) -> None:
    expected = Counter(hour_floor(datetime.fromtimestamp(record["startTime"], UTC)) for record in raw)
    found = {row.bucket: row.attempts for row in selectors.usage(window=WINDOW, bucket="hour")}
    assert found == expected


def test_reviews_of_all_tasks_by_the_raw_lines(raw: list[dict[str, Any]]) -> None:
    seen = {task_of(record) for record in raw}
    decided = {outcome["task_id"]: outcome for outcome in lines("outcomes.ndjson.gz")}
    minutes = sum(Decimal(repr(outcome["review_minutes"])) for task, outcome in decided.items() if task in seen)
    rows = selectors.cohorts(window=WINDOW)
    assert sum(row.review_minutes for row in rows) == minutes
    assert sum(row.tasks for row in rows if row.decision == Decision.ACCEPTED) == sum(
        outcome["accepted"] for task, outcome in decided.items() if task in seen
    )


def test_a_fallback_is_one_and_a_retry_is_one(raw: list[dict[str, Any]]) -> None:
    """Within a call, by end: what repeats the model of the call's first attempt retries it, another falls back."""
    calls: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in raw:
        calls[record["litellm_call_id"]].append(record)
    retries = fallbacks = 0
    for attempts in calls.values():
        first, *rest = sorted(attempts, key=lambda record: record["endTime"])
        retries += sum(record["model_group"] == first["model_group"] for record in rest)
        fallbacks += sum(record["model_group"] != first["model_group"] for record in rest)
    found = dict(UsageHour.objects.values_list("work").annotate(Sum("attempts")))
    assert found[Work.FALLBACK] == fallbacks > 0
    by_client = sum(found.values()) - found[Work.FIRST] - fallbacks - retries
    assert found[Work.RETRY] + found[Work.ESCALATION] == retries + by_client
    again = [
        min(attempts, key=lambda record: record["endTime"])
        for attempts in calls.values()
        if (attempts[0]["metadata"]["requester_metadata"] or {}).get("attempt", 1) > 1
    ]
    assert by_client == len(again)
    first_model: dict[str | None, str] = {}
    firsts = [min(attempts, key=lambda record: record["endTime"]) for attempts in calls.values()]
    for record in sorted(firsts, key=lambda record: record["startTime"]):
        first_model.setdefault(task_of(record), record["model_group"])
    assert found[Work.ESCALATION] == sum(record["model_group"] != first_model[task_of(record)] for record in again) > 0


def test_the_hours_balance() -> None:
    for row in selectors.replica_hours(WINDOW):
        assert row.held_us == row.load_us + row.busy_us + row.idle_us + row.down_us
        facts = selectors.facts_of_hour(row.hour)
        assert facts is not None
        used = sum(usage.share_units for usage in facts.usage if usage.replica_id == row.replica_id)
        assert 0 <= row.busy_us * UNITS_PER_US - used <= 34 * 20_000  # up to 34 at once: under a unit a segment each
        assert row.idle_us >= 0


def test_the_restart_is_seen() -> None:
    names = catalog.names("replica")
    rows = [row for row in selectors.replica_hours(WINDOW) if names[row.replica_id].slug == "granite-small-0"]
    away = sum(row.load_us + row.down_us for row in rows) / 1e6
    # Stopped at about 07:46:30, back about 70 s later; seen every 15 s, and what was answered meanwhile is busy.
    assert 60 <= away <= 120


def test_busy_is_the_union_of_the_times_in_which_the_engine_was_asked(raw: list[dict[str, Any]]) -> None:
    """A fallback that carries the start of its call was asked when the attempt before it had failed."""
    calls: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in sorted(raw, key=lambda record: record["endTime"]):
        calls[record["litellm_call_id"]].append(record)
    asked: dict[str, float] = {}
    for attempts in calls.values():
        for before, record in pairwise(attempts):
            if record["startTime"] <= attempts[0]["startTime"]:
                asked[record["id"]] = before["endTime"]
    assert len(asked) > 400
    names = catalog.names("replica")
    for slug, port in (("granite-large-0", "8102"), ("granite-small-0", "8101")):
        spans = sorted(
            (asked.get(record["id"], record["startTime"]), record["endTime"])
            for record in raw
            if port in (record["api_base"] or "") and record["status"] == "success"
        )
        total, reached = 0.0, 0.0
        for start, end in spans:
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        busy = sum(row.busy_us for row in selectors.replica_hours(WINDOW) if names[row.replica_id].slug == slug)
        assert busy / 1e6 == pytest.approx(total, abs=0.1)  # failed attempts while the engine was up add a little


def test_folding_again_changes_no_row() -> None:
    def rows() -> list[object]:
        tables: list[type[Model]] = [UsageHour, ReplicaHour, TaskHour, TaskPieces, TaskCohort, TaskShare, CallLink]
        kept = [[f.name for f in table._meta.concrete_fields if f.name != "id"] for table in tables]
        return [
            sorted(map(repr, table._default_manager.values_list(*names)))
            for table, names in zip(tables, kept, strict=True)
        ]

    before = rows()
    assert services.fold_dirty(now=NOW) == []
    assert services.fold_span(window=None, now=NOW)
    assert rows() == before


@pytest.mark.parametrize("dimension", ["team", "endpoint", "model", "replica", "key"])
def test_filters_sum_to_the_whole(dimension: Dimension) -> None:
    (whole,) = selectors.usage(window=WINDOW)
    parts = selectors.usage(window=WINDOW, group_by=(dimension,))
    alone = [
        selectors.usage(window=WINDOW, filters=Filters(**{dimension: frozenset({row.ids[dimension]})}))[0]
        for row in parts
    ]
    for name in (*COUNTS.values(), "calls", "failed_calls", "streamed", "without_tokens"):
        assert sum(getattr(row, name) for row in parts) == getattr(whole, name)
        assert [getattr(row, name) for row in alone] == [getattr(row, name) for row in parts]
    assert sum((row.e2e for row in parts), start=Histogram()) == whole.e2e
    assert selectors.usage(window=WINDOW, filters=Filters(**{dimension: frozenset()})) == []


def test_idle_hours_after_the_recording_are_held() -> None:
    later = selectors.replica_hours(Window(WINDOW.end, WINDOW.end + HOUR))
    assert later
    assert all(row.idle_us == row.held_us == 30 * 60 * 1_000_000 for row in later)  # NOW is half past
