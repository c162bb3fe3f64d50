"""Requests through the front door: the recording comes out as counted, nothing twice, nothing lost."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.core.vocabulary import Status
from apps.ingest import models
from apps.ingest.domain.limits import Sizes
from apps.ingest.services import BatchAnswer, SourceRef, ingest_requests

RECORDING = Path(__file__).resolve().parents[2] / "recordings" / "two-engines"
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
GATEWAY = SourceRef(name="gateway", kind="auto", scope="ifm_test")

pytestmark = pytest.mark.django_db


def send(records: list[Any] | bytes, *, source: SourceRef = GATEWAY, **options: Any) -> BatchAnswer:
    body = records if isinstance(records, bytes) else json.dumps(records).encode()
    return ingest_requests(source=source, stream=body, now=NOW, **options)


def native(**changes: Any) -> dict[str, Any]:
    record = {
        "id": "r1",
        "call_id": "c1",
        "task_id": "task-1",
        "started_at": "2026-11-30T08:00:00.25Z",
        "first_token_at": "2026-11-30T08:00:00.5Z",
        "ended_at": "2026-11-30T08:00:02.25Z",
        "team": "search",
        "endpoint": "answers",
        "model": "granite",
        "status": "ok",
        "stream": True,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "output_tokens": 0,
        "charge_amount": 0.00125,
        "charge_currency": "USD",
    }
    return {name: value for name, value in (record | changes).items() if value is not ...}


def test_a_record_comes_out_as_it_was_sent() -> None:
    answer = send([native()])
    assert (answer.stored, answer.duplicate, answer.rejected) == (1, 0, 0)
    row = models.Request.objects.get()
    assert row.started == datetime(2026, 11, 30, 8, 0, 0, 250_000, tzinfo=UTC)
    assert row.first_token == datetime(2026, 11, 30, 8, 0, 0, 500_000, tzinfo=UTC)
    assert row.ended == datetime(2026, 11, 30, 8, 0, 2, 250_000, tzinfo=UTC)
    assert (row.input_tokens, row.cache_read_tokens, row.output_tokens) == (100, 64, 0)
    assert (row.cache_write_tokens, row.reasoning_tokens, row.queue_us, row.http_status) == (None,) * 4
    assert (row.status, row.stream, row.charge_picos, row.batch_id) == (0, True, 1_250_000_000, answer.batch_id)
    label = models.LabelSet.objects.get(pk=row.label_id)
    assert (label.team, label.endpoint, label.model_requested, label.backend) == ("search", "answers", "granite", "")
    assert models.TaskName.objects.get(task_key=row.task_key).task_id == "task-1"
    source = models.Source.objects.get()
    assert (source.kind, source.name, source.scope, source.records) == ("native", "gateway", "ifm_test", 1)


def test_the_recording_comes_out_exactly_as_counted() -> None:
    expected = json.loads((RECORDING / "expected.json").read_text())
    body = gzip.decompress((RECORDING / "gateway.ndjson.gz").read_bytes())
    answer = send(body, sizes=Sizes(chunk_records=2_500, page_records=700))
    assert (answer.stored, answer.duplicate, answer.rejected) == (6125, 0, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT team, endpoint, model_requested, status, count(*), coalesce(sum(input_tokens), 0), "
            "coalesce(sum(cache_read_tokens), 0), coalesce(sum(output_tokens), 0) FROM ingest_request r "
            "JOIN ingest_labelset l ON l.id = r.label_id GROUP BY 1, 2, 3, 4"
        )
        rows = cursor.fetchall()
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for team, endpoint, model, status, attempts, prompt, cached, completion in rows:
        for group in ("all", f"team={team}", f"endpoint={endpoint}", f"model={model}"):
            groups[group]["attempts"] += attempts
            groups[group][Status(status).word] += attempts
            groups[group]["prompt_tokens"] += prompt
            groups[group]["cached_prompt_tokens"] += cached
            groups[group]["completion_tokens"] += completion
    for name, figures in expected["groups"].items():
        assert {key: groups[name][key] for key in figures} == figures, name
        assert sum(groups[name][status.word] for status in Status) == figures["attempts"]
    calls = models.Request.objects.values("call_key").distinct().count()
    tasks = models.Request.objects.values("task_key").distinct().count()
    assert (calls, tasks) == (expected["distinct_call_ids"], expected["tasks"])
    again = send(body)
    assert (again.stored, again.duplicate, again.rejected) == (0, 6125, 0)
    assert models.Request.objects.count() == 6125


def test_attempts_that_share_a_call_are_all_kept_and_one_sent_twice_is_stored_once() -> None:
    tries = [native(id=f"r{i}", attempt=i) for i in (1, 2, 3)]
    answer = send([*tries, tries[1]])
    assert [one.result for one in answer.results] == ["stored", "stored", "stored", "duplicate"]
    answer = send([native(id="r4"), tries[0]])
    assert [one.result for one in answer.results] == ["stored", "duplicate"]
    assert models.Request.objects.values("call_key").distinct().count() == 1
    assert models.Request.objects.count() == 4


def test_ids_of_two_senders_never_meet() -> None:
    other = SourceRef(name="gateway", kind="auto", scope="ifm_other")
    assert send([native()]).stored == 1
    assert send([native()], source=other).stored == 1


def test_good_neighbours_of_bad_records_are_stored_and_the_bad_ones_are_kept_with_reasons() -> None:
    answer = send([native(id="a"), native(id="b", input_tokens=-3, team=7), native(id="c")])
    assert [one.result for one in answer.results] == ["stored", "rejected", "stored"]
    problem = answer.results[1].problems[0]
    assert (problem.record, problem.field, problem.code) == (1, "team", "wrong_type")
    reject = models.Reject.objects.get()
    assert (reject.position, reject.batch_id, reject.what) == (1, answer.batch_id, "request")
    assert json.loads(reject.payload)["input_tokens"] == -3
    assert "team" in reject.message


def test_hours_that_a_new_record_touches_get_a_new_version_and_others_do_not() -> None:
    long = native(id="long", started_at="2026-11-30T05:59:00Z", first_token_at=..., ended_at="2026-11-30T08:00:01Z")
    send([native(), long])
    versions = dict(models.ArrivalHour.objects.values_list("hour", "version"))
    assert versions == {datetime(2026, 11, 30, hour, tzinfo=UTC): 1 for hour in (5, 6, 7, 8)}
    five = models.ArrivalHour.objects.get(hour=datetime(2026, 11, 30, 5, tzinfo=UTC))
    assert (five.records, five.longest_us) == (1, (2 * 3600 + 61) * 1_000_000)
    send([native(), long])
    assert dict(models.ArrivalHour.objects.values_list("hour", "version")) == versions
    send([native(id="new"), long])
    assert models.ArrivalHour.objects.get(hour=datetime(2026, 11, 30, 8, tzinfo=UTC)).version == 2
    assert models.ArrivalHour.objects.get(hour=datetime(2026, 11, 30, 5, tzinfo=UTC)).version == 1


def test_a_body_of_many_chunks_is_read_ahead_and_answered_for_every_record() -> None:
    records = [native(id=f"r{i}", task_id=f"t{i % 7}") for i in range(500)]
    records[123]["status"] = "good"
    body = b"\n".join(json.dumps(record).encode() for record in records)
    blocks = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    answer = ingest_requests(
        source=GATEWAY, stream=blocks, now=NOW, sizes=Sizes(chunk_records=50, page_records=20, block_bytes=4096)
    )
    assert [one.record for one in answer.results] == list(range(500))
    assert [one.record for one in answer.results if one.result != "stored"] == [123]
    assert models.Request.objects.count() == 499
    batch = models.Batch.objects.get()
    assert (batch.stored, batch.duplicate, batch.rejected, batch.bytes) == (499, 0, 1, len(body))


def test_a_delivery_whose_end_is_damaged_keeps_what_came_before_and_says_so() -> None:
    from apps.core.errors import InvalidInput, Problem

    def damaged() -> Any:
        for i in range(10):
            yield b"".join(json.dumps(native(id=f"{i}-{j}")).encode() + b"\n" for j in range(20))
        raise InvalidInput(Problem("bad_gzip", "the gzip body is cut off: its end is missing"))

    sizes = Sizes(chunk_records=20, page_records=20, block_bytes=1024)
    with pytest.raises(InvalidInput, match="cut off"):
        ingest_requests(source=GATEWAY, stream=damaged(), now=NOW, sizes=sizes)
    stored = models.Request.objects.count()
    assert 0 < stored <= 200
    whole = b"".join(json.dumps(native(id=f"{i}-{j}")).encode() + b"\n" for i in range(10) for j in range(20))
    answer = send(whole)
    assert (answer.stored, answer.duplicate) == (200 - stored, stored)
