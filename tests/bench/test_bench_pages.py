"""Server time of the pages over the same two weeks that hold 50 thousand stored requests, and then 5 million."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from apps.attribution import services as attribution
from apps.catalog import services as catalog
from apps.core.time import DAY, day_floor, hour_floor
from apps.ingest.partitions import ensure_days
from apps.rollups import services

FEW = 50_000
MANY = int(os.environ.get("BENCH_PAGES_REQUESTS", "5000000"))
ROUNDS = 25
CEILING = 1.5
PROMISED = ("/", "/tasks")
ALSO = ("/teams", "/endpoints", "/endpoints/endpoint-1", "/?range=24h")

pytestmark = pytest.mark.django_db(transaction=True)

LABELS = """
INSERT INTO ingest_labelset (id, digest, source_id, team, endpoint, key_alias, key_hash, model_requested, model_served,
    backend, replica, region, provider, charge_currency)
SELECT i, md5(i::text)::uuid, 1, 'team-' || i % 5, 'endpoint-' || i % 6, 'key-' || i % 7, '', 'model-' || i % 2, '', '',
    'replica-' || i % 4, '', '', ''
FROM generate_series(0, 24) AS i
"""
# Spread evenly; two attempts a task; latencies of 0.1 to 6 s, so that histograms are as wide as they get.
RECORDS = """
INSERT INTO ingest_request (started, identity, ended, first_token, call_key, task_key, label_id, batch_id, input_tokens,
    cache_read_tokens, output_tokens, http_status, attempt, status, operation, traffic, token_source, finish, stream)
SELECT start, md5(i::text)::uuid, start + took, CASE WHEN i %% 10 < 8 THEN start + took * 0.1 END,
    hashint8extended(i, 1), hashint8extended(i / 2, 7), (i / 2 * 7919) %% 25, 1, 200 + i * 31 %% 1500, i * 17 %% 200,
    20 + i * 13 %% 300, 200, 1, CASE WHEN i %% 50 = 0 THEN 1 WHEN i %% 51 = 0 THEN 3 WHEN i %% 60 = 0 THEN 5 ELSE 0 END,
    0, 0, 0, 0, i %% 10 < 8
FROM (
    SELECT i, %(start)s + i * (%(length)s::interval / %(count)s) AS start,
        (100000 + i * 40503 %% 6000000) * interval '1 microsecond' AS took
    FROM generate_series(0::bigint, %(count)s - 1) AS i
) AS made
"""
OUTCOMES = """
INSERT INTO ingest_outcome (task_key, digest, decided_at, received_at, accepted, reworked, review_minutes, evaluator)
SELECT hashint8extended(i, 7), md5(i::text)::uuid, %(now)s, %(now)s, i %% 5 > 0, false, 0.5, 'bench'
FROM generate_series(0::bigint, %(count)s / 2 - 1) AS i WHERE i %% 10 < 6
"""
ARRIVALS = """
INSERT INTO ingest_arrivalhour (hour, version, records, longest_us, first_received_at, last_received_at)
SELECT hour, 1, 1, 6200000, now(), now() FROM generate_series(%(start)s, %(end)s, interval '1 hour') AS hour
"""
TABLES = "SELECT tablename FROM pg_tables WHERE tablename ~ '^(rollups|attribution)_'"


def execute(query: str, **values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)


def describe() -> None:
    document = {
        "teams": [{"slug": "owner", "name": "Owner"}],
        "gpu_types": [{"slug": "gpu", "name": "GPU"}],
        "deployments": [
            {
                "slug": "served",
                "gpu_type": "gpu",
                "owner": "owner",
                "gpus_per_replica": 1,
                "replicas": [{"slug": f"replica-{i}", "name": f"replica-{i}"} for i in range(4)],
            }
        ],
        "prices": {
            "gpu_hour": [{"gpu_type": "gpu", "amount": "2", "currency": "USD", "from": "2020-01-01", "source": "-"}],
            "reviewer_hour": [{"amount": "45", "currency": "USD", "from": "2020-01-01", "source": "-"}],
        },
    }  # fmt: skip
    catalog.apply(document=document, actor="bench", dry_run=False)
    execute(
        "INSERT INTO ingest_source (id, name, kind, scope, first_seen_at, records, duplicates, rejected, recording)"
        " VALUES (1, 'bench', 'native', '', now(), 0, 0, 0, false)"
    )
    execute(LABELS)


def lay_out(count: int, now: datetime) -> None:
    """`count` requests over two weeks up to `now`, folded and attributed as live ones are."""
    start = day_floor(now) - 13 * DAY
    ensure_days("ingest_request", [(start + n * DAY).date() for n in range(15)])
    execute("TRUNCATE ingest_request, ingest_outcome, ingest_arrivalhour")
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        cursor.execute("TRUNCATE " + ", ".join(row[0] for row in cursor.fetchall()))
    execute(RECORDS, start=start, length=now - start - timedelta(minutes=1), count=count)
    execute(OUTCOMES, now=now, count=count)
    execute(ARRIVALS, start=start, end=hour_floor(now))
    execute("VACUUM ANALYZE")
    services.fold_dirty(now=now)
    attribution.attribute_dirty(now=now)
    execute("VACUUM ANALYZE")


def server_times(client: Client, paths: tuple[str, ...]) -> dict[str, float]:
    """Seconds of each page's fastest answer, asked for in turns: whatever else the machine does only adds."""
    seconds: dict[str, list[float]] = {path: [] for path in paths}
    for path in paths:
        assert client.get(path).status_code == 200, path
    for _ in range(ROUNDS):
        for path in paths:
            began = time.perf_counter()
            client.get(path)
            seconds[path].append(time.perf_counter() - began)
    return {path: min(times) for path, times in seconds.items()}


def test_pages_cost_the_same_at_a_hundred_times_the_requests(django_user_model: type[User]) -> None:
    client = Client()
    client.force_login(django_user_model.objects.create_superuser("bench"))
    now = datetime.now(UTC)
    describe()
    measured = []
    for count in (FEW, MANY):
        began = time.perf_counter()
        lay_out(count, now)
        print(
            f"\n{count:,} requests laid out, folded and attributed in {time.perf_counter() - began:.0f} s", flush=True
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*), (SELECT sum(attempts) FROM rollups_usagehour) FROM ingest_request")
            assert cursor.fetchone() == (count, count)
        assert "compared with the 7 days before" in client.get("/").content.decode()
        measured.append(server_times(client, PROMISED + ALSO))
    few, many = measured
    print(f"{'page':28} {FEW:>12,} {MANY:>12,}   ratio")
    for path in PROMISED + ALSO:
        print(f"{path:28} {few[path] * 1000:9.0f} ms {many[path] * 1000:9.0f} ms   {many[path] / few[path]:.2f}")
    for path in PROMISED:
        assert many[path] <= CEILING * few[path], f"{path} takes {many[path] / few[path]:.2f} times as long"
