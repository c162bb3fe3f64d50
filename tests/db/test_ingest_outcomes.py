"""Outcomes and rejected records: every decision kept once, and a way back in for what was refused."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.ingest import models
from apps.ingest.domain.identity import key64
from apps.ingest.services import (
    BatchAnswer,
    SourceRef,
    discard_reject,
    edit_and_resubmit,
    ingest_outcomes,
    ingest_requests,
    resubmit_reject,
)

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
JUDGE = SourceRef(name="judge", kind="outcomes", scope="ifm_test")
RECORDING = Path(__file__).resolve().parents[2] / "recordings" / "two-engines"

pytestmark = pytest.mark.django_db


def send(*outcomes: Any) -> BatchAnswer:
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in outcomes]
    return ingest_outcomes(source=JUDGE, body=b"\n".join(lines), now=NOW)


def outcome(**changes: Any) -> dict[str, Any]:
    return {"task_id": "t1", "accepted": True, "decided_at": "2026-11-30T08:00:00Z"} | changes


def test_every_decision_is_kept_and_the_same_one_twice_is_stored_once() -> None:
    answer = send(outcome(), outcome(), outcome(decided_at=1796025700, accepted=False, review_minutes=2.5, score=0.3))
    assert [one.result for one in answer.results] == ["stored", "duplicate", "stored"]
    assert send(outcome(decided_at=1796025600)).duplicate == 1
    newest = models.Outcome.objects.filter(task_key=key64("t1")).order_by("-decided_at").first()
    assert newest is not None
    assert (newest.accepted, newest.reworked, newest.score) == (False, False, 0.3)
    assert newest.review_minutes == Decimal("2.5")
    assert models.TaskName.objects.get(task_key=key64("t1")).task_id == "t1"
    source = models.Source.objects.get(kind="outcomes")
    assert (source.records, source.duplicates) == (2, 2)


def test_the_recorded_outcomes_are_all_stored() -> None:
    body = gzip.decompress((RECORDING / "outcomes.ndjson.gz").read_bytes())
    answer = ingest_outcomes(source=JUDGE, body=body, now=NOW)
    assert (answer.stored + answer.duplicate, answer.rejected) == (2886, 0)
    again = ingest_outcomes(source=JUDGE, body=body, now=NOW)
    assert (again.stored, again.duplicate) == (0, 2886)


HEAD = b'{"task_id":"t","accepted":true,"decided_at":1796025600,'
SPOILED: dict[str, tuple[Any, str, str]] = {
    "no task": (outcome(task_id=None), "task_id", "missing"),
    "an acceptance that is a word": (outcome(accepted="yes"), "accepted", "wrong_type"),
    "no time": ({"task_id": "t", "accepted": True}, "decided_at", "missing"),
    "a time without offset": (outcome(decided_at="2026-11-30T08:00:00"), "decided_at", "wrong_type"),
    "a time two hours ahead": (outcome(decided_at="2026-11-30T11:00:00Z"), "decided_at", "in_future"),
    "negative review": (outcome(review_minutes=-1), "review_minutes", "negative"),
    "an infinite review": (HEAD + b'"review_minutes":Infinity}', "review_minutes", "not_finite"),
    "a score that is no number": (HEAD + b'"score":NaN}', "score", "not_finite"),
    "a field twice": (HEAD + b'"accepted":false}', "accepted", "duplicate_key"),
    "an unknown field": (outcome(verdict="good"), "verdict", "unknown_field"),
    "a bare string": (b'"t1"', "", "wrong_type"),
    "a task with a NUL": (outcome(task_id="a\0"), "task_id", "nul_byte"),
}


@pytest.mark.parametrize(("spoiled", "field", "code"), SPOILED.values(), ids=SPOILED.keys())
def test_a_spoiled_outcome_is_named_and_its_neighbours_are_stored(spoiled: Any, field: str, code: str) -> None:
    answer = send(outcome(task_id="before"), spoiled, outcome(task_id="after"))
    assert [one.result for one in answer.results] == ["stored", "rejected", "stored"]
    assert (1, field, code) in [(p.record, p.field, p.code) for p in answer.results[1].problems]
    assert models.Reject.objects.get().what == "outcome"


def rejected_request(**changes: Any) -> models.Reject:
    record = {"id": "r1", "status": "ok", "started_at": "2026-11-30T08:00:00Z"} | changes
    source = SourceRef(name="gateway", kind="native", scope="ifm_test")
    assert ingest_requests(source=source, stream=json.dumps(record).encode(), now=NOW).rejected == 1
    return models.Reject.objects.get()


def test_a_rejected_record_can_be_fixed_and_sent_again() -> None:
    reject = rejected_request(input_tokens=-4)
    answer = edit_and_resubmit(reject_id=reject.pk, payload=reject.payload.replace("-4", '"4"'), now=NOW)
    assert (answer.result, answer.problems[0].code) == ("rejected", "wrong_type")
    reject.refresh_from_db()
    assert (reject.state, reject.code, json.loads(reject.payload)["input_tokens"]) == ("open", "wrong_type", "4")
    answer = edit_and_resubmit(reject_id=reject.pk, payload=reject.payload.replace('"4"', "4"), now=NOW)
    reject.refresh_from_db()
    assert (answer.result, reject.state) == ("stored", "resubmitted")
    assert models.Request.objects.get().input_tokens == 4
    assert models.Reject.objects.count() == 1
    with pytest.raises(InvalidInput, match="no open rejected record"):
        resubmit_reject(reject_id=reject.pk, now=NOW)


def test_a_record_from_the_future_is_taken_once_its_time_has_come() -> None:
    reject = rejected_request(started_at="2026-11-30T12:00:00Z")
    assert "ahead of this server" in reject.message
    assert resubmit_reject(reject_id=reject.pk, now=NOW).result == "rejected"
    assert resubmit_reject(reject_id=reject.pk, now=datetime(2026, 11, 30, 12, tzinfo=UTC)).result == "stored"


def test_a_rejected_outcome_goes_back_to_the_outcomes() -> None:
    send(outcome(review_minutes=-1))
    reject = models.Reject.objects.get()
    answer = edit_and_resubmit(reject_id=reject.pk, payload=json.dumps(outcome(review_minutes=1)), now=NOW)
    assert answer.result == "stored"
    assert models.Outcome.objects.get().review_minutes == 1


def test_what_is_no_record_cannot_be_sent_again() -> None:
    reject = rejected_request(input_tokens=-4)
    refused = {"": "nothing of this record", "{": "not valid JSON", "[]": "one record", "[1, 2]": "one record"}
    for payload, said in refused.items():
        with pytest.raises(InvalidInput, match=said):
            edit_and_resubmit(reject_id=reject.pk, payload=payload, now=NOW)
    reject.refresh_from_db()
    assert reject.state == "open"


def test_a_discarded_record_is_done_with() -> None:
    reject = rejected_request(input_tokens=-4)
    discard_reject(reject_id=reject.pk)
    reject.refresh_from_db()
    assert reject.state == "discarded"
    with pytest.raises(InvalidInput):
        discard_reject(reject_id=reject.pk)


def test_a_delivery_that_is_retried_keeps_its_rejected_records_once() -> None:
    source = SourceRef(name="gateway", kind="native", scope="ifm_test")
    record = {"id": "r1", "status": "ok", "started_at": "2026-11-30T08:00:00Z"}
    bad = [record | {"input_tokens": -4}, record | {"input_tokens": -5}, record | {"input_tokens": -4}]
    body = "\n".join([*map(json.dumps, bad), "cut off", "{", '{"task\\u0000\\ud800": 1}']).encode()
    later = NOW.replace(hour=10)
    first = ingest_requests(source=source, stream=body, now=NOW)
    assert first.rejected == 6
    rows = models.Reject.objects.order_by("id")
    assert list(rows.values_list("position", flat=True)) == [0, 1, 3, 4, 5]
    discard_reject(reject_id=rows[0].pk)
    edit_and_resubmit(reject_id=rows[1].pk, payload=json.dumps(record), now=NOW)
    edit_and_resubmit(reject_id=rows[4].pk, payload=json.dumps(record | {"step": -1}), now=NOW)
    before = list(rows.values_list("id", "state", "code", "payload"))
    again = ingest_requests(source=source, stream=body, now=later)
    assert again.rejected == 6
    assert list(rows.values_list("id", "state", "code", "payload")) == before
    assert [state for _, state, _, _ in before] == ["discarded", "resubmitted", "open", "open", "open"]
    assert set(rows.values_list("received_at", "batch_id")) == {(later, again.batch_id)}
    assert ingest_requests(source=SourceRef(name="other", kind="native", scope="x"), stream=body, now=NOW).rejected == 6
    assert rows.count() == 10


def test_the_same_rejected_outcome_is_kept_once() -> None:
    for _ in range(2):
        assert send(outcome(review_minutes=-1), outcome(review_minutes=-2)).rejected == 2
    assert models.Reject.objects.count() == 2


def test_many_rejected_records_take_few_statements(django_assert_max_num_queries: Any) -> None:
    source = SourceRef(name="gateway", kind="native", scope="ifm_test")
    body = "\n".join(json.dumps({"id": f"r{i}", "sttus": "ok"}) for i in range(2_500)).encode()
    with django_assert_max_num_queries(20):
        assert ingest_requests(source=source, stream=body, now=NOW).rejected == 2_500
    assert models.Reject.objects.count() == 2_500
    assert "did you mean 'status'?" in models.Reject.objects.order_by("id")[2_499].message
