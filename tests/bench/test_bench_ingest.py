"""How fast bytes become durable rows, beside COPY alone and beside msgspec alone; and that memory stays flat.

Both sides of a ratio begin with the same bytes in memory; the body is gigabytes, so neither finds it in a cache.
The floor against COPY is meant for its ordinary text format; the ratio to the binary one, which spares the server the
parsing, is printed beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from django.core.management import call_command
from django.db import connection

from apps.ingest.models import Batch, LabelSet
from apps.ingest.services import SourceRef, ingest_requests
from apps.ingest.sources.litellm.decode import LINES
from tests.bench.ingest_data import NOW, write_litellm, write_native

RECORDS = int(os.environ.get("BENCH_RECORDS", "200000"))
ROUNDS = 3
NATIVE_FLOOR = 0.35
LITELLM_FLOOR = 0.5
MEMORY_LIMIT_MB = 300
BLOCK = 1 << 20

pytestmark = pytest.mark.django_db(transaction=True)


def blocks(path: Path) -> list[bytes]:
    """The file in memory, in blocks of about a MiB that end with a line."""
    with path.open("rb") as file:
        return list(iter(lambda: file.read(BLOCK) + file.readline(), b""))


def ingest(body: list[bytes], kind: str, now: datetime = NOW) -> float:
    """Seconds to ingest the file into an empty log."""
    call_command("flush", interactive=False, verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE ingest_request")
        cursor.execute("CHECKPOINT")
    began = time.perf_counter()
    answer = ingest_requests(source=SourceRef(name="bench", kind=kind), stream=body, now=now, answers="rejected")
    seconds = time.perf_counter() - began
    assert (answer.stored, answer.rejected) == (RECORDS, 0)
    return seconds


def copied(form: str) -> float:
    """Seconds for COPY alone to load the rows that are in the log into the same table again, emptied."""
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY (SELECT * FROM ingest_request) TO STDOUT (FORMAT {form})") as copy:
            rows = b"".join(bytes(data) for data in copy)
        cursor.execute("TRUNCATE ingest_request")
        cursor.execute("CHECKPOINT")
        cursor.execute("SET synchronous_commit = on")
        began = time.perf_counter()
        with cursor.copy(f"COPY ingest_request FROM STDIN (FORMAT {form})") as copy:
            for at in range(0, len(rows), BLOCK):
                copy.write(rows[at : at + BLOCK])
        return time.perf_counter() - began


def decoded(body: list[bytes]) -> float:
    """Seconds for msgspec alone to decode the body into the same structs."""
    began = time.perf_counter()
    n = sum(len(LINES.decode_lines(lines)) for lines in body)
    seconds = time.perf_counter() - began
    assert n == RECORDS
    return seconds


def told(what: str, ours: list[float], theirs: list[float], floor: float) -> float:
    """Print the rates; the ratio of the best rounds, since others may have been using the machine."""
    ratio = min(theirs) / min(ours)
    print(
        f"\n{what}: {RECORDS / min(ours):,.0f}/s against {RECORDS / min(theirs):,.0f}/s alone: "
        f"{ratio:.2f} (at least {floor}); rounds "
        + ", ".join(f"{other / own:.2f}" for own, other in zip(ours, theirs, strict=True))
    )
    return ratio


def test_own_format_against_copy_alone(tmp_path: Path) -> None:
    path = tmp_path / "native.ndjson"
    write_native(path, RECORDS)
    body = blocks(path)
    ours, text, binary = [], [], []
    for _ in range(ROUNDS):
        ours.append(ingest(body, "native"))
        text.append(copied("text"))
        binary.append(copied("binary"))
    told("own format, against binary COPY", ours, binary, 0)
    assert told("own format, against COPY", ours, text, NATIVE_FLOOR) >= NATIVE_FLOOR


def test_litellm_against_decoding_alone(tmp_path: Path) -> None:
    path = tmp_path / "litellm.ndjson"
    write_litellm(path, RECORDS)
    body = blocks(path)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(decoded(body))
        ours.append(ingest(body, "litellm"))
    assert LabelSet.objects.count() < 100 and Batch.objects.count() == 1
    assert told("LiteLLM payloads", ours, theirs, LITELLM_FLOOR) >= LITELLM_FLOOR


def test_memory_stays_flat_over_a_million_records(tmp_path: Path) -> None:
    path = tmp_path / "native.ndjson"
    write_native(path, 1_000_000)
    database = connection.settings_dict
    url = f"postgresql://{quote(database['USER'])}:{quote(database['PASSWORD'])}@/{database['NAME']}"
    host = database["HOST"]
    url += f"?host={quote(host, safe='')}&port={database['PORT']}"
    command = [sys.executable, "manage.py", "ingest", "--format", "native", str(path)]
    worker = subprocess.Popen(command, env=os.environ | {"DATABASE_URL": url}, stdout=subprocess.DEVNULL)
    sizes = []
    while worker.poll() is None:
        sizes.append(_resident_mb(worker.pid))
        time.sleep(0.1)
    assert worker.returncode == 0
    middle = sizes[len(sizes) // 4 : len(sizes) // 2]
    late = sizes[len(sizes) // 2 :]
    print(f"\nmemory over 1,000,000 records: at most {max(sizes):.0f} MB; {max(middle):.0f}, then {max(late):.0f} MB")
    assert max(sizes) < MEMORY_LIMIT_MB
    assert max(late) < 1.2 * max(middle)


def _resident_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)
