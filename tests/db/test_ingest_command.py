"""manage.py ingest: files through the same door; a killed run loses nothing that it had stored and doubles nothing."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import connection

from apps.ingest import models
from apps.ingest.domain.identity import key64

ROOT = Path(__file__).resolve().parents[2]


def lines(n: int, **changes: Any) -> bytes:
    start = datetime(2026, 11, 20, tzinfo=UTC).timestamp()
    records = (
        {"id": f"r{i}", "task_id": f"t{i // 3}", "started_at": start + i, "ended_at": start + i + 5, "status": "ok"}
        | {"team": f"team-{i % 5}", "input_tokens": i % 100}
        | changes
        for i in range(n)
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.django_db
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
def test_a_file_is_ingested_whatever_it_is_packed_in(tmp_path: Path, pack: Any, capsys: Any) -> None:
    path = tmp_path / "records"
    path.write_bytes(pack(lines(50)))
    call_command("ingest", str(path))
    assert "50 stored, 0 duplicate, 0 rejected" in capsys.readouterr().out
    call_command("ingest", str(path), "--format", "native")
    assert "0 stored, 50 duplicate, 0 rejected" in capsys.readouterr().out


@pytest.mark.django_db
def test_rejected_records_are_named_and_make_the_exit_status_one(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "records"
    path.write_bytes(lines(3) + lines(1, output_tokens=-1))
    with pytest.raises(SystemExit) as exit_:
        call_command("ingest", str(path))
    assert exit_.value.code == 1
    told = capsys.readouterr()
    assert "3 stored, 0 duplicate, 1 rejected" in told.out
    assert "record 3, field 'output_tokens'" in told.err


@pytest.mark.django_db
def test_a_file_that_is_cut_off_or_missing_is_a_plain_sentence(tmp_path: Path) -> None:
    path = tmp_path / "records.gz"
    path.write_bytes(gzip.compress(lines(50))[:-20])
    with pytest.raises(CommandError, match="cut off"):
        call_command("ingest", str(path))
    with pytest.raises(CommandError, match="No such file"):
        call_command("ingest", str(tmp_path / "nothing"))


def database_url() -> str:
    database = connection.settings_dict
    where = f"?host={quote(str(database['HOST']), safe='')}&port={database['PORT']}"
    return f"postgresql://{quote(database['USER'])}:{quote(database['PASSWORD'])}@/{database['NAME']}{where}"


@pytest.fixture
def empty_log(transactional_db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ingest_request")
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ingest_request")


def test_a_run_that_is_killed_again_and_again_stores_every_record_once(tmp_path: Path, empty_log: None) -> None:
    n = 39_000
    path = tmp_path / "records"
    path.write_bytes(lines(n))
    command = [sys.executable, "manage.py", "ingest", "--format", "native", str(path)]
    environment = os.environ | {"DATABASE_URL": database_url()}
    kills, seen = 0, 0
    for _ in range(12):
        worker = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        before = models.Request.objects.count()
        while worker.poll() is None and models.Request.objects.count() == before:
            time.sleep(0.01)
        if worker.poll() is not None:
            break
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        kills += 1
        stored = models.Request.objects.count()
        assert seen <= stored <= n
        assert sum(models.Batch.objects.values_list("stored", flat=True)) == stored
        seen = stored
    assert kills >= 1
    assert worker.returncode == 0
    assert models.Request.objects.count() == n
    assert models.Request.objects.values("identity").distinct().count() == n
    assert models.TaskName.objects.count() == n // 3
    assert sum(models.ArrivalHour.objects.values_list("records", flat=True)) == n
    assert models.Source.objects.get().records == n


def test_two_runs_at_once_of_the_same_records_store_each_once(tmp_path: Path, empty_log: None) -> None:
    n = 20_000
    forward, backward = tmp_path / "forward", tmp_path / "backward"
    forward.write_bytes(lines(n))
    backward.write_bytes(b"".join(reversed(lines(n).splitlines(keepends=True))))
    environment = os.environ | {"DATABASE_URL": database_url()}
    workers = [
        subprocess.Popen([sys.executable, "manage.py", "ingest", str(path)], cwd=ROOT, env=environment)
        for path in (forward, backward)
    ]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert models.Request.objects.count() == n
    source = models.Source.objects.get()
    assert (source.records, source.duplicates) == (n, n)
    assert sum(models.ArrivalHour.objects.values_list("records", flat=True)) == n


def test_a_file_of_outcomes_is_known_as_such(tmp_path: Path, db: None, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "outcomes.ndjson.gz"
    lines = b'{"task_id": "t-1", "accepted": true, "decided_at": 1796023974.5}\n'
    path.write_bytes(gzip.compress(lines))
    call_command("ingest", str(path))
    assert [(one.task_key, one.accepted) for one in models.Outcome.objects.all()] == [(key64("t-1"), True)]
