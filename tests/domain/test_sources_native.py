"""Our own format: one good record, spoiled one way at a time; and bodies of any kind, which never break the reader."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.core.time import to_micros
from apps.ingest.domain.identity import NO_KEY, key64
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.reading import Reader
from apps.ingest.domain.records import Records, Rejected, joined
from apps.ingest.sources import native

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
SECRET = b"secret"


def good(**changes: Any) -> dict[str, Any]:
    record = {
        "id": "chatcmpl-1",
        "started_at": "2026-11-30T08:00:00Z",
        "first_token_at": "2026-11-30T09:00:01+01:00",
        "ended_at": "2026-11-30T08:00:03.5Z",
        "team": "search",
        "model": "granite",
        "status": "ok",
        "stream": True,
        "input_tokens": 10,
        "output_tokens": 5,
        "queue_seconds": 0.25,
    }
    return {name: value for name, value in (record | changes).items() if value is not ...}


def read(body: bytes | list[bytes], sizes: Sizes | None = None) -> tuple[Records | None, list[Rejected]]:
    reader = Reader(native, "native\0key", to_micros(NOW), SECRET, sizes or Sizes())
    chunks = list(reader.chunks([body] if isinstance(body, bytes) else body))
    pages = [chunk.records for chunk in chunks if chunk.records is not None]
    return joined(pages) if pages else None, [one for chunk in chunks for one in chunk.rejected]


def ndjson(*records: Any) -> bytes:
    return b"\n".join(record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)


def test_every_field_of_the_good_record_is_read() -> None:
    records, rejected = read(ndjson(good()))
    assert rejected == [] and records is not None
    start = to_micros(datetime(2026, 11, 30, 8, tzinfo=UTC))
    numbers = {name: column[0] for name, column in records.numbers.items() if not np.isnan(column[0])}
    assert numbers == {
        "started_us": start,
        "first_token_us": start + 1_000_000,
        "ended_us": start + 3_500_000,
        "queue_us": 250_000,
        "input_tokens": 10,
        "output_tokens": 5,
        "status": 0,
        "operation": 0,
        "traffic": 0,
        "token_source": 0,
        "stream": 1,
    }
    assert records.labels == [("search", None, None, None, "granite", None, None, None, None, None, None)]
    assert records.charge_picos.tolist() == [-1]
    assert {key[0] for key in records.keys.values()} == {NO_KEY}


def test_seconds_and_rfc_3339_are_the_same_time_and_the_same_record() -> None:
    seconds = good(started_at=1796025600, first_token_at=1796025601.0, ended_at=1796025603.5)
    records, rejected = read(ndjson(good(), seconds))
    assert rejected == [] and records is not None
    assert records.identity[0] == records.identity[1]


HEAD = b'{"id":"a","status":"ok","started_at":1796025600,'
SPOILED = {
    "no start": (good(started_at=...), "started_at", "missing"),
    "a start that is null": (good(started_at=None), "started_at", "missing"),
    "a start without an offset": (good(started_at="2026-11-30T08:00:00"), "started_at", "wrong_type"),
    "a start that is no time": (good(started_at="yesterday"), "started_at", "wrong_type"),
    "a start in 1970": (good(started_at=12.5), "started_at", "too_old"),
    "a start in milliseconds": (good(started_at=1796025600000), "started_at", "in_future"),
    "a clock more than an hour ahead": (
        good(started_at="2026-11-30T10:00:01Z", first_token_at=..., ended_at=...),
        "started_at",
        "in_future",
    ),
    "an end before the start": (good(ended_at="2026-11-30T07:59:59Z", first_token_at=...), "ended_at", "out_of_order"),
    "an end nine days after the start": (
        good(started_at="2026-11-21T08:00:00Z", first_token_at=...),
        "ended_at",
        "too_long_lasting",
    ),
    "a first token after the end": (good(first_token_at="2026-11-30T08:00:04Z"), "first_token_at", "out_of_order"),
    "negative tokens": (good(input_tokens=-1), "input_tokens", "negative"),
    "more tokens from the cache than there are": (
        good(input_tokens=10, cached_input_tokens=6, cache_write_tokens=5),
        "cached_input_tokens",
        "parts_exceed_whole",
    ),
    "more tokens of reasoning than there are": (
        good(output_tokens=5, reasoning_tokens=6),
        "reasoning_tokens",
        "parts_exceed_whole",
    ),
    "an escape in a label": (good(team="sea\x1brch"), "team", "control_character"),
    "a line feed in an id": (good(call_id="c\n1"), "call_id", "control_character"),
    "a control character of Latin 1": (good(endpoint="a\x85b"), "endpoint", "control_character"),
    "absurd tokens": (good(output_tokens=100_000_001), "output_tokens", "absurd"),
    "tokens beyond any integer": (good(output_tokens=10**400), "output_tokens", "absurd"),
    "tokens with a fraction": (good(input_tokens=1.5), "input_tokens", "wrong_type"),
    "tokens as a text": (good(input_tokens="10"), "input_tokens", "wrong_type"),
    "tokens as a boolean": (good(input_tokens=True), "input_tokens", "wrong_type"),
    "tokens that are no number": (HEAD + b'"input_tokens":NaN}', "input_tokens", "not_finite"),
    "an infinite queue": (HEAD + b'"queue_seconds":Infinity}', "queue_seconds", "not_finite"),
    "a queue of a month": (good(queue_seconds=2_600_000), "queue_seconds", "out_of_range"),
    "an HTTP status of 7": (good(http_status=7), "http_status", "out_of_range"),
    "attempt zero": (good(attempt=0), "attempt", "out_of_range"),
    "no status": (good(status=...), "status", "missing"),
    "a status that is no word of ours": (good(status="success"), "status", "unknown_word"),
    "an operation that is no word of ours": (good(operation="dance"), "operation", "unknown_word"),
    "no id at all": (good(id=...), "id", "missing"),
    "an empty id": (good(id=""), "id", "missing"),
    "an unknown field": (good(modle="x"), "modle", "unknown_field"),
    "a field twice": (HEAD + b'"team":"a","team":"b"}', "team", "duplicate_key"),
    "a field twice, once null": (HEAD + b'"team":null,"team":"b"}', "team", "duplicate_key"),
    "a field twice, spaced": (
        b'{"id":"a","status":"ok","started_at" :1796025600,"team" :"x","team":"b"}',
        "team",
        "duplicate_key",
    ),
    "a label with a NUL": (good(team="a\0b"), "team", "nul_byte"),
    "an id with a NUL": (good(call_id="a\0b"), "call_id", "nul_byte"),
    "a label that is too long": (good(team="x" * 513), "team", "too_long"),
    "half a surrogate pair": (HEAD + b'"team":"\\ud800"}', "team", "bad_text"),
    "text that is no UTF-8": (HEAD + b'"team":"\xff"}', "", "bad_utf8"),
    "a bare NUL byte": (b'{"id":"a","status":"ok\x00"}', "", "nul_byte"),
    "a bare string": (b'"hello"', "", "wrong_type"),
    "a bare number": (b"17", "", "wrong_type"),
    "null": (b"null", "", "wrong_type"),
    "an array in a line": (b'{"id":[1]}', "id", "wrong_type"),
    "half an object": (b'{"id":"a","status":', "", "not_json"),
    "a charge without currency": (good(charge_amount=0.5), "charge_currency", "missing"),
    "a charge in a currency that is none": (
        good(charge_amount="0.5", charge_currency="dollars"),
        "charge_currency",
        "wrong_value",
    ),
    "a negative charge": (good(charge_amount=-1, charge_currency="USD"), "charge_amount", "out_of_range"),
}


@pytest.mark.parametrize(("spoiled", "field", "code"), SPOILED.values(), ids=SPOILED.keys())
@pytest.mark.parametrize("shape", ["lines", "array"])
def test_a_spoiled_record_is_named_and_its_neighbours_survive(spoiled: Any, field: str, code: str, shape: str) -> None:
    body = ndjson(good(id="before"), spoiled, good(id="after"))
    if shape == "array":
        body = b"[" + body.replace(b"\n", b",") + b"]"
        if code == "not_json":
            pytest.skip("an array that is cut open has no neighbours behind the cut")
    records, rejected = read(body)
    assert records is not None and records.positions.tolist() == [0, 2]
    assert [one.position for one in rejected] == [1]
    assert (field, code) in [(problem.field, problem.code) for problem in rejected[0].problems]
    assert all(problem.record == 1 for problem in rejected[0].problems)


def test_all_problems_of_a_record_are_told_at_once() -> None:
    _, rejected = read(ndjson(good(input_tokens=-1, status="fine", ended_at="2026-11-30T07:00:00Z", team="x" * 600)))
    assert {problem.field for problem in rejected[0].problems} >= {"input_tokens", "status", "ended_at", "team"}
    _, rejected = read(ndjson(good(input_tokens="1", stream="yes", modle="x")))
    assert {problem.field for problem in rejected[0].problems} == {"input_tokens", "stream", "modle"}
    assert any("did you mean 'model'" in problem.message for problem in rejected[0].problems)


def test_prompts_are_not_kept_with_a_rejected_record() -> None:
    secret = "the secret plan"
    for spoiled in (
        json.dumps(good(prompt=secret, metadata={"messages": [secret]}, team=3)).encode(),
        b'{"id":"a","team":"search","prompt":"' + secret.encode() + b'"',
        b"{'prompt': '" + secret.encode() + b"'}",
    ):
        _, rejected = read(ndjson(spoiled))
        assert secret not in rejected[0].payload
        assert secret not in " ".join(problem.message for problem in rejected[0].problems)
    assert json.loads(read(b'{"id":"a","team":"search","prompt":"x"')[1][0].payload) == {"id": "a", "team": "search"}


def test_an_error_counts_over_a_success() -> None:
    statuses = {200: 0, 400: 1, 429: 2, 500: 3, 504: 4, 499: 5}
    records, _ = read(ndjson(*[good(id=str(code), http_status=code) for code in statuses]))
    assert records is not None
    assert records.numbers["status"].tolist() == list(statuses.values())


def test_missing_tokens_are_not_zero() -> None:
    records, _ = read(ndjson(good(input_tokens=..., output_tokens=None), good(id="b", output_tokens=0)))
    assert records is not None
    assert records.numbers["token_source"].tolist() == [2, 0]
    assert np.isnan(records.numbers["output_tokens"][0]) and records.numbers["output_tokens"][1] == 0


def test_people_are_hashed_with_a_key() -> None:
    records, _ = read(ndjson(good(end_user="ada@example.com")))
    assert records is not None
    assert records.keys["end_user_key"][0] not in (NO_KEY, key64("ada@example.com"))


def test_one_object_over_several_lines_is_one_record() -> None:
    records, rejected = read(json.dumps(good(), indent=2).encode() + b"\n")
    assert records is not None and len(records) == 1 and rejected == []


def test_a_line_over_the_limit_is_named_and_its_neighbours_survive() -> None:
    sizes = Sizes(record_bytes=2_000, block_bytes=1_000, whole_bytes=4_000)
    long = json.dumps(good(id="long", team="x" * 50_000)).encode()
    lines = ndjson(good(id="a"), long, good(id="b"))
    array = b"[" + lines.replace(b"\n", b",") + b"]"
    for body, step in ((lines, 700), (lines, 100_000), (array, 700)):
        records, rejected = read([body[i : i + step] for i in range(0, len(body), step)], sizes)
        assert records is not None and records.positions.tolist() == [0, 2]
        assert [one.problems[0].code for one in rejected] == ["too_large"]


def test_the_answers_do_not_depend_on_where_a_body_is_cut() -> None:
    body = ndjson(*[good(id=f"r{i}", team=f"t{i}") for i in range(40)], b"{broken", good(id="last"))
    array = (
        b"["
        + ndjson(*[good(id=f"r{i}", team=f"t{i}") for i in range(40)], good(id="last")).replace(b"\n", b", ")
        + b"]"
    )
    for text in (body, array):
        whole = read(text)
        for step in (1, 7, 64, 999):
            sizes = Sizes(block_bytes=512, whole_bytes=2_048, page_records=5, chunk_records=16)
            records, rejected = read([text[i : i + step] for i in range(0, len(text), step)], sizes)
            assert records is not None and whole[0] is not None
            assert records.identity.tolist() == whole[0].identity.tolist()
            assert [one.position for one in rejected] == [one.position for one in whole[1]]


@pytest.mark.parametrize("body", [b"", b"  \n \n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_refused_as_such(body: bytes) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        read(body)


def test_a_body_that_is_no_json_is_refused_as_such() -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        read(b"<html><body>Bad gateway</body></html>")


NAMES = st.sampled_from([*native.FIELDS, "prompt", "unknown", ""])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["ok", "2026-11-30T08:00:00Z", 1796025600, "USD", "chat"]),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, VALUES, max_size=8), st.booleans())
def test_no_object_breaks_the_reader_or_loses_a_neighbour(changes: dict[str, Any], whole: bool) -> None:
    spoiled = good() | changes if whole else changes
    records, rejected = read(ndjson(good(id="before"), spoiled, good(id="after")))
    assert records is not None
    assert {0, 2} <= set(records.positions.tolist())
    assert len(records) + len(rejected) == 3


@settings(max_examples=250, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_break_the_reader_or_lose_a_neighbour(noise: bytes, cut: bool) -> None:
    if cut:
        text = json.dumps(good()).encode()
        noise = text[: len(noise)] + noise[:3] + text[len(noise) + 2 :]
    body = ndjson(good(id="before"), noise, good(id="after"))
    records, _ = read(body)
    assert records is not None
    assert 0 in records.positions and len(records) >= 2
    for shape in (noise, b"[" + noise, b"[" + json.dumps(good()).encode() + b"," + noise + b"]"):
        try:
            read(shape)
        except InvalidInput:
            continue


def test_a_field_that_stands_twice_is_found_wherever_nulls_and_spaces_are() -> None:
    once = good(call_id=None, backend='a ": "b', region="")
    for separators in ((",", ":"), (", ", ": "), (" ,  ", " :\t")):
        texts = [json.dumps(once | {"id": name}, separators=separators).encode() for name in "abc"]
        records, rejected = read(ndjson(*texts))
        assert records is not None and (len(records), rejected) == (3, [])
        twice = texts[1][:-1] + b',"region": null}'
        lines = ndjson(texts[0], twice, texts[2])
        for body in (lines, b"[" + lines.replace(b"\n", b",") + b"]"):
            records, rejected = read(body)
            assert records is not None and records.positions.tolist() == [0, 2]
            assert [(p.field, p.code) for p in rejected[0].problems] == [("region", "duplicate_key")]


def test_half_a_surrogate_pair_in_an_id_is_refused() -> None:
    records, rejected = read(ndjson(good(id="a"), b'{"id":"\\ud800","status":"ok","started_at":1796025600}'))
    assert records is not None and len(records) == 1
    assert [(problem.field, problem.code) for problem in rejected[0].problems] == [("id", "bad_text")]


def test_parts_may_be_all_of_the_tokens_and_unknown_wholes_have_parts() -> None:
    whole = good(input_tokens=10, cached_input_tokens=6, cache_write_tokens=4, output_tokens=5, reasoning_tokens=5)
    records, rejected = read(ndjson(whole, good(id="b", input_tokens=..., cached_input_tokens=6)))
    assert rejected == [] and records is not None and len(records) == 2


def test_raw_control_characters_are_found_without_an_escape() -> None:
    body = json.dumps({"id": "a", "status": "ok", "started_at": 1796025600, "team": "a\x7fb\x9f"}, ensure_ascii=False)
    _, rejected = read(body.encode())
    assert [problem.code for problem in rejected[0].problems] == ["control_character"]
