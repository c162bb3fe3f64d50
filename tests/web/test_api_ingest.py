"""Records over HTTP: what is stored, what each bad input is told, and that no good neighbour is lost."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import zstandard
from django.db import connection
from django.test import Client

from apps.ingest.models import Outcome, Reject, Request, Source
from tests.web.api_kit import (
    OUTCOMES,
    REQUESTS,
    assert_described,
    assert_problem,
    bearer,
    key,
    post,
)

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC).replace(microsecond=0)
START = NOW - timedelta(hours=1)
PROMPT = "the secret of the recipe"


def record(name: str = "r", **more: object) -> dict[str, object]:
    """A good record of our own format; `more` spoils it."""
    return {
        "id": name,
        "started_at": START.isoformat(),
        "ended_at": (START + timedelta(seconds=3)).isoformat(),
        "team": "support",
        "endpoint": "triage",
        "model": "granite",
        "replica": "granite-0",
        "task_id": f"task-{name}",
        "stream": False,
        "status": "ok",
        "input_tokens": 12,
        "output_tokens": 5,
    } | more


def ndjson(*records: object) -> bytes:
    return b"\n".join(r if isinstance(r, bytes) else json.dumps(r).encode() for r in records) + b"\n"


def array(*records: object) -> bytes:
    return b"[" + b",".join(r if isinstance(r, bytes) else json.dumps(r).encode() for r in records) + b"]"


def sent(body: bytes, status: int, /, path: str = REQUESTS, query: str = "", encoding: str = "") -> dict[str, Any]:
    response = post(path + query, body, key("ingest"), encoding=encoding)
    assert response.status_code == status, response.content
    assert_described(response, path, "post")
    if status not in (200, 207):
        assert_problem(response, status)
    result: dict[str, Any] = response.json()
    return result


def counts(answer: dict[str, Any]) -> tuple[int, int, int]:
    return answer["stored"], answer["duplicate"], answer["rejected"]


@pytest.mark.parametrize("framing", [ndjson, array])
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
def test_framings_and_encodings(framing: Callable[..., bytes], encoding: str, pack: Callable[[bytes], bytes]) -> None:
    answer = sent(pack(framing(record("a"), record("b"))), 200, encoding=encoding)
    assert counts(answer) == (2, 0, 0)
    assert [(r["record"], r["result"]) for r in answer["results"]] == [(0, "stored"), (1, "stored")]
    assert Request.objects.count() == 2


def test_one_object_spread_over_lines() -> None:
    assert counts(sent(json.dumps(record(), indent=2).encode(), 200)) == (1, 0, 0)


def test_the_content_type_is_not_looked_at() -> None:
    secret = key("ingest")
    for n, content_type in enumerate(("application/json", "text/html", "multipart/form-data; boundary=x", "nonsense")):
        assert post(REQUESTS, ndjson(record(f"r{n}")), secret, content_type=content_type).status_code == 200
    form = "application/x-www-form-urlencoded"
    assert post(REQUESTS, ndjson(record("form")), secret, content_type=form).status_code == 200


def test_sent_twice_is_stored_once() -> None:
    secret, body = key("ingest"), ndjson(record("a"), record("b"))
    assert counts(post(REQUESTS, body, secret).json()) == (2, 0, 0)
    assert counts(post(REQUESTS, body, secret).json()) == (0, 2, 0)
    assert counts(post(REQUESTS, ndjson(record("c"), record("c")), secret).json()) == (1, 1, 0)
    assert Request.objects.count() == 3


def test_two_keys_may_use_the_same_ids() -> None:
    for _ in range(2):
        assert counts(sent(ndjson(record("a")), 200)) == (1, 0, 0)
    assert Source.objects.exclude(scope="").count() == 2


def spoiled(name: str, **more: object) -> Any:
    return pytest.param(json.dumps(record("bad", **more)).encode(), next(iter(more)), id=name)


TWICE = json.dumps(record("bad"))[:-1].encode() + b', "input_tokens": 13}'
NOT_UTF8 = json.dumps(record("bad", team="TEAM")).encode().replace(b"TEAM", b"\xff\xfe")
NO_START = json.dumps({k: v for k, v in record("bad").items() if k != "started_at"}).encode()
BAD = [
    spoiled("not a number", input_tokens=float("nan")),
    spoiled("infinity", queue_seconds=float("inf")),
    spoiled("minus infinity", queue_seconds=float("-inf")),
    spoiled("negative tokens", output_tokens=-1),
    spoiled("absurd tokens", input_tokens=10**12),
    spoiled("more than any integer", input_tokens=10**400),
    spoiled("end before start", ended_at=(START - timedelta(seconds=1)).isoformat()),
    spoiled("clock hours ahead", started_at=(NOW + timedelta(hours=3)).isoformat(), ended_at=None),
    spoiled("before there was time", started_at="1969-12-31T23:59:59Z"),
    spoiled("unknown field", colour="red"),
    spoiled("text for a number", input_tokens="many"),
    spoiled("fraction for a count", output_tokens=1.5),
    spoiled("number for a text", team=7),
    spoiled("object for a text", team={"id": 7}),
    spoiled("unknown word", status="fine"),
    spoiled("NUL byte", team="a\x00b"),
    spoiled("lone surrogate", team="a\ud800b"),
    spoiled("text too long", team="x" * 10_000),
    pytest.param(TWICE, "input_tokens", id="duplicate key"),
    pytest.param(NOT_UTF8, "", id="invalid UTF-8"),
    pytest.param(NO_START, "started_at", id="no start"),
    pytest.param(b'"a bare string"', "", id="bare string"),
    pytest.param(b"42", "", id="bare number"),
    pytest.param(b"[]", "", id="array in an array"),
]  # fmt: skip


@pytest.mark.parametrize("framing", [ndjson, array])
@pytest.mark.parametrize(("bad", "field"), BAD)
def test_a_bad_record_is_named_with_its_field_and_its_neighbours_are_stored(
    framing: Callable[..., bytes], bad: bytes, field: str
) -> None:
    answer = sent(framing(record("before"), bad, record("after")), 207)
    assert counts(answer) == (2, 0, 1)
    assert [r["result"] for r in answer["results"]] == ["stored", "rejected", "stored"]
    problems = answer["results"][1]["problems"]
    assert problems
    assert {problem["record"] for problem in problems} == {1}
    assert field in {problem["field"] for problem in problems}
    assert Request.objects.count() == 2
    assert Reject.objects.count() == 1


@pytest.mark.parametrize(("bad", "field"), BAD)
def test_nothing_but_bad_is_422(bad: bytes, field: str) -> None:
    answer = sent(array(bad, bad), 422)
    assert counts(answer) == (0, 0, 2)
    assert field in {problem["field"] for problem in answer["problems"]}


def test_only_the_rejected_are_listed_if_asked() -> None:
    answer = sent(ndjson(record("a"), record("b", input_tokens=-1), record("c")), 207, query="?results=rejected")
    assert [r["record"] for r in answer["results"]] == [1]


def test_all_problems_of_a_record_are_told() -> None:
    answer = sent(ndjson(record(input_tokens=-1, output_tokens=-2, queue_seconds=-3)), 422)
    fields = {problem["field"] for problem in answer["results"][0]["problems"]}
    assert fields == {"input_tokens", "output_tokens", "queue_seconds"}


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        pytest.param(b"", "", 400, id="empty"),
        pytest.param(b" \n\r\n\t ", "", 400, id="white space"),
        pytest.param(gzip.compress(b""), "gzip", 400, id="empty gzip"),
        pytest.param(b"<html><body>Bad Gateway</body></html>", "", 400, id="html"),
        pytest.param(b"id,team\n1,support\n", "", 400, id="csv"),
        pytest.param(gzip.compress(ndjson(record()))[:-12], "gzip", 400, id="truncated gzip"),
        pytest.param(gzip.compress(ndjson(record()))[:8], "gzip", 400, id="gzip header alone"),
        pytest.param(ndjson(record()), "gzip", 400, id="not gzip"),
        pytest.param(gzip.compress(ndjson(record()))[:-8] + b"\0" * 8, "gzip", 400, id="gzip with a wrong checksum"),
        pytest.param(zstandard.ZstdCompressor().compress(ndjson(record()))[:-6], "zstd", 400, id="truncated zstd"),
        pytest.param(ndjson(record()), "zstd", 400, id="not zstd"),
        pytest.param(ndjson(record()), "br", 415, id="another encoding"),
        pytest.param(zlib.compress(ndjson(record())), "deflate", 415, id="deflate"),
    ],
)
def test_a_bad_body(body: bytes, encoding: str, status: int) -> None:
    for path in (REQUESTS, OUTCOMES):
        answer = sent(body, status, path=path, encoding=encoding)
        assert answer["problems"], answer


def test_a_body_that_breaks_late_says_what_is_stored_already() -> None:
    records = [{"id": f"r{n}", "started_at": START.timestamp(), "status": "ok"} for n in range(60_000)]
    packed, secret = gzip.compress(ndjson(*records), 1), key("ingest")
    broken = assert_problem(post(REQUESTS, packed[:-2_000], secret, encoding="gzip"), 400)
    assert broken["stored"] == Request.objects.count() > 0
    mended = post(f"{REQUESTS}?results=rejected", packed, secret, encoding="gzip").json()
    assert (mended["duplicate"], mended["results"]) == (broken["stored"], [])
    assert Request.objects.count() == 60_000


@pytest.mark.parametrize("path", [REQUESTS, OUTCOMES])
def test_a_body_of_too_many_wrong_records_is_read_so_far_and_400(path: str) -> None:
    good = [record("good")]
    if path == OUTCOMES:
        good = [{"task_id": "t", "accepted": True, "decided_at": NOW.timestamp()}]
    packed = gzip.compress(ndjson(*good) + b"1\n" * 100_000, 1)
    answer = assert_problem(post(path, packed, key("ingest"), encoding="gzip"), 400)
    assert answer["problems"][0]["code"] == "too_many_rejected"
    assert (answer["stored"], answer["rejected"]) == (1, 20_001)
    assert "1 of its records are stored" in answer["detail"]
    assert "not read" in answer["detail"]
    assert (Request if path == REQUESTS else Outcome).objects.count() == 1


class Stream:
    """A body of any size that is made while it is read; `given` counts."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""
        self.given = 0

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (block := next(self._blocks, None)) is not None:
            self._rest += block
        out, self._rest = self._rest[:size], self._rest[size:]
        self.given += len(out)
        return out

    def readline(self, size: int = -1) -> bytes:
        raise AssertionError("the body is read in blocks")


def long_line(mebibytes: int) -> Iterator[bytes]:
    yield json.dumps(record("before")).encode() + b'\n{"id":"'
    for _ in range(mebibytes):
        yield b"x" * (1 << 20)
    yield b'"}\n' + json.dumps(record("after")).encode() + b"\n"


def stream(body: Stream, length: int | None, *, terminated: bool = True, encoding: str = "") -> Any:
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": terminated}
    extra = chunked if length is None else {"CONTENT_LENGTH": str(length)}
    if encoding:
        extra["HTTP_CONTENT_ENCODING"] = encoding
    return Client().generic(
        "POST", REQUESTS, b"x", "text/plain", headers=bearer(key("ingest")), **extra | {"wsgi.input": body}
    )


def test_a_stated_length_over_the_limit_is_413_before_anything_is_read() -> None:
    body = Stream(long_line(200))
    assert "67,108,864" in assert_problem(stream(body, 200 << 20), 413)["detail"]
    assert body.given == 0


def test_a_200_mb_line_without_a_stated_length_is_cut_off_at_the_limit_in_flat_memory() -> None:
    body = Stream(long_line(200))
    tracemalloc.start()
    try:
        assert_problem(stream(body, None), 413)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert body.given <= (64 << 20) + (1 << 17)
    assert peak < 40 << 20


def test_a_packed_200_mb_line_is_one_rejected_record_between_its_neighbours() -> None:
    packer = zlib.compressobj(1, wbits=31)
    packed = b"".join([*(packer.compress(block) for block in long_line(200)), packer.flush()])
    tracemalloc.start()
    try:
        answer = sent(packed, 207, encoding="gzip")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert counts(answer) == (2, 0, 1)
    assert answer["results"][1]["problems"][0]["code"] == "too_large"
    assert peak < 60 << 20


def test_a_bomb_is_413(settings: Any) -> None:
    settings.INGEST_BODY_LIMIT_BYTES = 1 << 20
    for encoding, pack in (("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)):
        assert_problem(post(REQUESTS, pack(b" " * (9 << 20)), key("ingest"), encoding=encoding), 413)


def test_a_body_that_ends_before_its_stated_length_is_400() -> None:
    body = ndjson(record())
    answer = assert_problem(stream(Stream(iter([body])), len(body) + 10), 400)
    assert "ended after" in answer["detail"]


def test_a_chunked_body_whose_end_nobody_marks_is_411() -> None:
    assert_problem(stream(Stream(iter([ndjson(record())])), None, terminated=False), 411)


def test_a_chunked_body_is_stored() -> None:
    assert stream(Stream(iter([ndjson(record("a"))[:20], ndjson(record("a"))[20:]])), None).status_code == 200


def test_a_broken_connection_is_400() -> None:
    def broken() -> Iterator[bytes]:
        yield ndjson(record("a")) + b"x"
        raise ConnectionResetError("peer is gone")

    assert "ended early" in assert_problem(stream(Stream(broken()), 1 << 20), 400)["detail"]


def test_an_unknown_format_is_named() -> None:
    answer = sent(ndjson(record()), 400, query="?format=openai&results=none")
    assert {problem["field"] for problem in answer["problems"]} == {"format", "results"}


def litellm(call_id: str) -> dict[str, object]:
    start = START.timestamp()
    return {
        "id": f"chatcmpl-{call_id}",
        "litellm_call_id": call_id,
        "call_type": "acompletion",
        "status": "success",
        "startTime": start,
        "endTime": start + 2,
        "completionStartTime": start + 2,
        "model": "granite-small",
        "model_group": "granite-small",
        "api_base": "http://127.0.0.1:8101/v1",
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "stream": False,
        "response_cost": 0.0,
        "messages": [{"role": "user", "content": PROMPT}],
        "response": {"choices": [{"message": {"content": PROMPT}, "finish_reason": "stop"}]},
        "metadata": {"user_api_key_team_id": "support"},
        "unheard_of": {"nested": [1, 2]},
    }


def test_litellm_batches_are_told_from_ours_and_may_hold_nulls() -> None:
    answer = sent(array(litellm("a"), b"null", litellm("b")), 200, query="?results=rejected")
    assert answer["stored"] == 2
    assert counts(sent(array(litellm("c")), 200, query="?format=litellm")) == (1, 0, 0)


def test_prompts_are_neither_answered_nor_logged_nor_kept(caplog: pytest.LogCaptureFixture) -> None:
    secret = key("ingest")
    for body in (
        array(litellm("a") | {"prompt_tokens": -1}),
        array(litellm("a"))[:-40],
        ndjson(record("p", prompt=PROMPT)),
        ndjson(record("p", messages=[{"content": PROMPT}], input_tokens=-1)),
        f"not JSON: {PROMPT}".encode(),
        json.dumps(PROMPT).encode(),
    ):
        response = post(REQUESTS, body, secret)
        assert response.status_code in (400, 422), response.content
        assert PROMPT not in response.content.decode()
    assert PROMPT not in caplog.text
    assert not [reject for reject in Reject.objects.all() if PROMPT in reject.payload + reject.message]


def test_outcomes() -> None:
    good = {"task_id": "t-1", "accepted": True, "review_minutes": 1.5, "evaluator": "desk", "decided_at": 1_790_000_000}
    secret = key("ingest")
    assert counts(post(OUTCOMES, ndjson(good), secret).json()) == (1, 0, 0)
    assert counts(post(OUTCOMES, array(good), secret).json()) == (0, 1, 0)
    answer = sent(array(good | {"task_id": "t-2"}, {"task_id": "t-3"}, good | {"accepted": "yes"}), 207, path=OUTCOMES)
    assert counts(answer) == (1, 0, 2)
    assert [r["result"] for r in answer["results"]] == ["stored", "rejected", "rejected"]
    assert "accepted" in {problem["field"] for problem in answer["results"][2]["problems"]}
    assert Outcome.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_away_while_storing_is_503_and_the_same_body_is_good_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cut(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    secret, body = key("ingest"), ndjson(record("a"), record("b"))
    before = Request.objects.count()  # No flush empties the log: Django does not manage its table.
    with monkeypatch.context() as patched:
        patched.setattr("apps.ingest.writer.Writer.write", cut)
        response = post(REQUESTS, body, secret)
    assert_problem(response, 503)
    assert response["Retry-After"] == "5"
    connection.close()
    assert Request.objects.count() == before
    assert counts(post(REQUESTS, body, secret).json()) == (2, 0, 0)
