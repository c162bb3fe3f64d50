"""Rolling up and attributing one hour of a million requests, beside a GROUP BY of the same hour by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import connection

from apps.attribution import services as attribution
from apps.catalog import services as catalog
from apps.ingest.partitions import ensure_days
from apps.rollups import selectors, services

REQUESTS = int(os.environ.get("BENCH_HOUR_REQUESTS", "1000000"))
ROUNDS = 3
CEILING = 8
HOUR = datetime(2026, 3, 2, 10, tzinfo=UTC)
NOW = datetime(2026, 3, 2, 11, 30, tzinfo=UTC)

pytestmark = pytest.mark.django_db(transaction=True)

LABELS = """
INSERT INTO ingest_labelset (id, digest, source_id, team, endpoint, key_alias, key_hash, model_requested, model_served,
    backend, replica, region, provider, charge_currency)
SELECT i, md5(i::text)::uuid, 1, 'team-' || i % 5, 'endpoint-' || i % 6, 'key-' || i % 7, '', 'model-' || i % 2, '', '',
    'replica-' || i % 4, '', '', ''
FROM generate_series(0, 24) AS i
"""
# 2.04 requests a task and one task in one label set, but for tries again on another model; one call in twenty retried.
RECORDS = """
INSERT INTO ingest_request (started, identity, ended, first_token, call_key, task_key, label_id, batch_id, input_tokens,
    cache_read_tokens, output_tokens, http_status, attempt, status, operation, traffic, token_source, finish, stream)
SELECT start, md5(i::text)::uuid, start + took, CASE WHEN i % 10 < 8 THEN start + took * 0.1 END,
    hashint8extended(i / CASE WHEN i % 20 = 0 THEN 2 ELSE 1 END, 1), hashint8extended(i * 49 / 100, 7),
    (i * 49 / 100 * 7919 + i % 13 / 12) % 25, 1, 200 + i * 31 % 1500, i * 17 % 200, 20 + i * 13 % 300, 200,
    1 + i % 13 / 12, CASE WHEN i % 50 = 0 THEN 1 WHEN i % 51 = 0 THEN 3 WHEN i % 60 = 0 THEN 5 ELSE 0 END,
    0, 0, 0, 0, i % 10 < 8
FROM (
    SELECT i, timestamptz '2026-03-02 10:00+00' + i * 3590000000 / {count} * interval '1 microsecond' AS start,
        (100000 + i * 40503 % 6000000) * interval '1 microsecond' AS took
    FROM generate_series(0::bigint, {count} - 1) AS i
) AS made
"""
OUTCOMES = """
INSERT INTO ingest_outcome (task_key, digest, decided_at, received_at, accepted, reworked, review_minutes, evaluator)
SELECT hashint8extended(i, 7), md5(i::text)::uuid, '2026-03-02 11:10+00', '2026-03-02 11:10+00', i % 5 > 0, false, 0.5,
    'bench'
FROM generate_series(0::bigint, {count} * 49 / 100) AS i WHERE i % 10 < 6
"""
SUMS = """
SELECT label_id, status, traffic, count(*), count(*) FILTER (WHERE stream), sum(input_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens)
FROM ingest_request WHERE started >= '2026-03-02 10:00+00' AND started < '2026-03-02 11:00+00' GROUP BY 1, 2, 3
"""
WITH_CALLS = SUMS.replace("count(*),", "count(*), count(DISTINCT call_key),", 1)


def execute(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)


def best(run: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    """Seconds of the fastest of some rounds."""
    seconds = []
    for _ in range(ROUNDS):
        before()
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def make_hour() -> None:
    ensure_days("ingest_request", [HOUR.date()])
    execute(
        "INSERT INTO ingest_source (id, name, kind, scope, first_seen_at, records, duplicates, rejected, recording)"
        " VALUES (1, 'bench', 'native', '', now(), 0, 0, 0, false)"
    )
    execute(LABELS)
    execute(RECORDS.format(count=REQUESTS))
    execute(OUTCOMES.format(count=REQUESTS))
    execute("INSERT INTO ingest_arrivalhour VALUES ('2026-03-02 10:00+00', 1, 1000000, 6200000, now(), now())")
    execute("VACUUM ANALYZE ingest_request")
    execute("ANALYZE ingest_outcome")
    document = {
        "gpu_types": [{"slug": "gpu", "name": "GPU"}],
        "deployments": [
            {
                "slug": "served",
                "gpu_type": "gpu",
                "gpus_per_replica": 1,
                "replicas": [{"slug": f"replica-{i}", "name": f"replica-{i}"} for i in range(4)],
            }
        ],
        "prices": {
            "gpu_hour": [{"gpu_type": "gpu", "amount": "2", "currency": "USD", "from": "2020-01-01", "source": "-"}]
        },
    }  # fmt: skip
    catalog.apply(document=document, actor="bench", dry_run=False)


def forget() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE tablename ~ '^(rollups|attribution)_'")
        cursor.execute("TRUNCATE " + ", ".join(row[0] for row in cursor.fetchall()))
        cursor.execute("CHECKPOINT")


def test_an_hour_of_a_million_requests_is_rolled_up_and_attributed() -> None:
    make_hour()
    sums = best(lambda: execute(SUMS))
    with_calls = best(lambda: execute(WITH_CALLS))
    folding = best(lambda: services.fold_hour(hour=HOUR, now=NOW), before=forget)
    attributing = best(lambda: attribution.attribute_hour(hour=HOUR, now=NOW))
    both = folding + attributing
    facts = selectors.facts_of_hour(HOUR)
    assert facts is not None
    assert sum(row.attempts for row in facts.usage) == REQUESTS
    print(
        f"\n{REQUESTS:,} requests in an hour: fold {folding:.2f} s, attribute {attributing:.2f} s"
        f" ({len(facts.usage)} usage rows, {len(facts.task_shares)} task shares)"
        f"\n  GROUP BY of the sums alone          {sums:.2f} s  ratio {both / sums:5.1f}"
        f"\n  GROUP BY that also counts the calls {with_calls:.2f} s  ratio {both / with_calls:5.1f}"
    )
    assert both <= CEILING * with_calls
