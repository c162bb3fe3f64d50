"""LiteLLM's payloads as they really come: the captured ones, and each way in which they are odd."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.core.time import to_micros
from apps.core.vocabulary import Finish, Operation, Status, TokenSource, Traffic
from apps.ingest.domain.identity import NO_KEY, key64
from apps.ingest.domain.limits import Sizes
from apps.ingest.domain.reading import Reader
from apps.ingest.domain.records import LABELS, Records, Rejected, joined
from apps.ingest.sources import litellm
from apps.ingest.sources.registry import sniffed_kind

CAPTURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "litellm_payloads.json").read_text()
)
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def captured(status: str, code: str, stream: bool | None) -> dict[str, Any]:
    for payload in CAPTURED:
        if (payload["status"], payload["error_information"]["error_code"], payload["stream"]) == (status, code, stream):
            return copy.deepcopy(payload)
    raise LookupError


def streamed() -> dict[str, Any]:
    return captured("success", "", True)


def changed(payload: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *parents, last = path.split(".")
    at = payload
    for parent in parents:
        at = at[parent]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return payload


def read(body: bytes, sizes: Sizes | None = None) -> tuple[Records, list[Rejected]]:
    reader = Reader(litellm, "litellm\0key", to_micros(NOW), b"secret", sizes or Sizes())
    chunks = list(reader.chunks([body]))
    return joined([c.records for c in chunks if c.records is not None]), [r for c in chunks for r in c.rejected]


def one(payload: Any) -> dict[str, Any]:
    """The single record that the payload becomes: numbers (None for not known), labels, keys and charge."""
    records, rejected = read(json.dumps([payload]).encode())
    assert rejected == []
    numbers = {name: None if np.isnan(c[0]) else int(c[0]) for name, c in records.numbers.items()}
    labels = dict(zip(LABELS, records.labels[records.label[0]], strict=True))
    keys = {name: int(column[0]) for name, column in records.keys.items()}
    return numbers | labels | keys | {"charge_picos": int(records.charge_picos[0])}


def test_a_streamed_success_is_read_in_every_field() -> None:
    payload = streamed()
    row = one(payload)
    assert row["started_us"] == round(payload["startTime"] * 1e6)
    assert row["ended_us"] == round(payload["endTime"] * 1e6)
    assert row["first_token_us"] == round(payload["completionStartTime"] * 1e6)
    usage = payload["metadata"]["usage_object"]
    assert (row["input_tokens"], row["output_tokens"]) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert row["cache_read_tokens"] == usage["prompt_tokens_details"]["cached_tokens"]
    assert row["reasoning_tokens"] == 0
    assert (row["status"], row["operation"], row["traffic"]) == (Status.OK, Operation.CHAT, Traffic.USER)
    assert (row["stream"], row["token_source"], row["http_status"]) == (1, TokenSource.REPORTED, None)
    assert row["finish"] == Finish[payload["response"]["choices"][0]["finish_reason"].upper()]
    requester = payload["metadata"]["requester_metadata"]
    assert (row["attempt"], row["step"]) == (requester["attempt"], requester["step"])
    assert row["task_key"] == key64(requester["task_id"])
    assert row["call_key"] == key64(payload["litellm_call_id"])
    assert (row["session_key"], row["end_user_key"]) == (NO_KEY, NO_KEY)
    assert row["team"] == payload["metadata"]["user_api_key_team_id"]
    assert row["endpoint"] == payload["metadata"]["user_api_key_auth_metadata"]["endpoint"]
    assert row["key_alias"] == payload["metadata"]["user_api_key_alias"]
    assert (row["model_requested"], row["model_served"]) == (payload["model_group"], payload["model"])
    assert (row["backend"], row["provider"]) == (payload["api_base"], "hosted_vllm")
    assert (row["charge_picos"], row["charge_currency"]) == (0, "USD")


@pytest.mark.parametrize(
    ("status", "code", "stream", "meaning"),
    [
        ("success", "499", True, Status.ABORTED),
        ("failure", "500", None, Status.SERVER_ERROR),
        ("failure", "400", None, Status.CLIENT_ERROR),
        ("failure", "", None, Status.SERVER_ERROR),
        ("success", "", None, Status.OK),
    ],
)
def test_captured_statuses(status: str, code: str, stream: bool | None, meaning: Status) -> None:
    row = one(captured(status, code, stream))
    assert row["status"] == meaning
    assert row["http_status"] == (int(code) if code else None)
    if status == "failure":
        assert (row["input_tokens"], row["output_tokens"], row["cache_read_tokens"]) == (None, None, None)
        assert (row["token_source"], row["first_token_us"], row["stream"]) == (TokenSource.MISSING, None, None)
    if code == "499":
        assert row["output_tokens"] is not None and row["token_source"] == TokenSource.REPORTED


@pytest.mark.parametrize(
    ("status", "code", "error_class", "meaning"),
    [
        ("failure", "429", "RateLimitError", Status.RATE_LIMITED),
        ("failure", 429, "RateLimitError", Status.RATE_LIMITED),
        ("failure", "408", "Timeout", Status.TIMEOUT),
        ("failure", "", "ReadTimeout", Status.TIMEOUT),
        ("failure", "504", "", Status.TIMEOUT),
        ("failure", "404", "NotFoundError", Status.CLIENT_ERROR),
        ("failure", "abc", "", Status.SERVER_ERROR),
        ("success", "500", "", Status.SERVER_ERROR),
        ("success", "", "APIError", Status.SERVER_ERROR),
        ("success", None, None, Status.OK),
    ],
)
def test_an_error_counts_over_a_success(status: str, code: Any, error_class: Any, meaning: Status) -> None:
    payload = streamed() | {"status": status}
    payload["error_information"] = {"error_code": code, "error_class": error_class}
    assert one(payload)["status"] == meaning


ODD: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "no first token: LiteLLM writes the end": ("completionStartTime", 1796023979.0, {"first_token_us": None}),
    "not streamed": ("stream", False, {"first_token_us": None, "stream": 0}),
    "usage is a marker": ("metadata.usage_object", "Unserializable Object", {"cache_read_tokens": None}),
    "a body is a marker": ("response", "MaxDepthExceeded", {"finish": None}),
    "a body is a list": ("response", [1, {"choices": []}], {"finish": None}),
    "choices are redacted": ("response", {"choices": "redacted"}, {"finish": None}),
    "messages are gone": ("messages", ..., {}),
    "an attempt that clients made up": ("metadata.requester_metadata.attempt", "many", {"attempt": None}),
    "an attempt as a text": ("metadata.requester_metadata.attempt", "2", {"attempt": 2}),
    "an attempt that cannot be": ("metadata.requester_metadata.attempt", -4, {"attempt": None}),
    "a task that is a number": ("metadata.requester_metadata.task_id", 17, {"task_key": key64("17")}),
    "no metadata of the caller": ("metadata.requester_metadata", None, {"task_key": NO_KEY, "attempt": None}),
    "no metadata at all": ("metadata", None, {"team": None, "endpoint": None, "cache_read_tokens": None}),
    "no team id but an alias": ("metadata.user_api_key_team_id", None, {"team": None}),
    "no model group": ("model_group", "", {"model_requested": "hosted_vllm/granite-small"}),
    "an error that is null": ("error_information", None, {"status": Status.OK}),
    "shadow traffic": ("metadata.is_silent_experiment", True, {"traffic": Traffic.SHADOW}),
    "a judge": ("metadata.internal_call_origin", "llm_as_a_judge_guardrail", {"traffic": Traffic.JUDGE}),
    "a health check": ("metadata.user_api_key_alias", "litellm-internal-health-check", {"traffic": Traffic.HEALTH}),
    "embeddings": ("call_type", "aembedding", {"operation": Operation.EMBEDDINGS}),
    "a kind of call not known": ("call_type", "call_mcp_tool", {"operation": Operation.OTHER}),
    "a cost": ("response_cost", 1.25e-05, {"charge_picos": 12_500_000}),
    "no cost": ("response_cost", None, {"charge_picos": -1, "charge_currency": None}),
    "times written out": ("startTime", "2026-11-30 07:32:51.250000", {"started_us": 1796023971250000}),
}


@pytest.mark.parametrize(("path", "value", "expected"), ODD.values(), ids=ODD.keys())
def test_odd_payloads(path: str, value: Any, expected: dict[str, Any]) -> None:
    payload = streamed()
    payload |= {"startTime": 1796023971.25, "completionStartTime": 1796023972.5, "endTime": 1796023979.0}
    row = one(changed(payload, path, value))
    assert {name: row[name] for name in expected} == expected


def test_the_larger_of_two_homes_of_cached_tokens_is_right() -> None:
    payload = streamed()
    payload["metadata"]["usage_object"]["prompt_tokens_details"] = {"cached_tokens": 0}
    payload["metadata"]["usage_object"]["cache_read_input_tokens"] = 245
    assert one(payload)["cache_read_tokens"] == 245


def test_explicit_zeros_of_a_success_stay_and_a_stream_without_usage_is_missing() -> None:
    payload = streamed() | {"prompt_tokens": 12, "completion_tokens": 0}
    assert (one(payload)["input_tokens"], one(payload)["output_tokens"]) == (12, 0)
    payload = changed(streamed() | {"prompt_tokens": 0, "completion_tokens": 0}, "metadata.usage_object", None)
    assert (one(payload)["input_tokens"], one(payload)["token_source"]) == (None, TokenSource.MISSING)


def test_the_task_may_travel_in_headers() -> None:
    payload = streamed()
    payload["metadata"]["requester_metadata"] = {"headers": {"x-task-id": "t-9", "x-attempt": "3", "x-step": "1"}}
    row = one(payload)
    assert (row["task_key"], row["attempt"], row["step"]) == (key64("t-9"), 3, 1)
    payload["metadata"]["requester_metadata"] = {}
    payload["metadata"]["requester_custom_headers"] = {"x-task-id": "t-8"}
    assert one(payload)["task_key"] == key64("t-8")


def test_attempts_of_one_call_are_told_apart_and_the_same_payload_is_known_again() -> None:
    payload = captured("failure", "500", None)
    retry = payload | {"startTime": payload["startTime"] + 0.01, "endTime": payload["endTime"] + 0.01}
    fallback = captured("success", "", True) | {"litellm_call_id": payload["litellm_call_id"]}
    records, _ = read(json.dumps([payload, retry, fallback, payload]).encode())
    identities = records.identity.tolist()
    assert len(set(identities)) == 3 and identities[0] == identities[3]
    assert len(set(records.keys["call_key"].tolist())) == 1


@pytest.mark.parametrize("shape", ["array", "ndjson", "single", "pretty"])
def test_every_log_format_is_read_whatever_its_content_type(shape: str) -> None:
    a, b = streamed(), captured("failure", "400", None)
    body = {
        "array": json.dumps([None, a, None, b]),
        "ndjson": f"{json.dumps(a)}\n{json.dumps(b)}",
        "single": json.dumps(a),
        "pretty": json.dumps([a, b], indent=2),
    }[shape].encode()
    records, rejected = read(body)
    assert rejected == []
    assert records.positions.tolist() == {"array": [1, 3], "single": [0]}.get(shape, [0, 1])


@pytest.mark.parametrize("shape", ["array", "ndjson"])
def test_bare_nan_spoils_a_record_only_where_it_matters(shape: str) -> None:
    texts = [json.dumps(streamed() | {"id": str(i)}) for i in range(4)]
    texts[1] = texts[1].replace('"saved_cache_cost": 0.0', '"saved_cache_cost": NaN')
    texts[2] = texts[2].replace('"response_cost": 0.0', '"response_cost": NaN', 1)
    body = f"[{','.join(texts)}]" if shape == "array" else "\n".join(texts)
    records, rejected = read(body.encode())
    assert records.positions.tolist() == [0, 1, 3]
    assert [(p.record, p.field, p.code) for p in rejected[0].problems] == [(2, "response_cost", "not_finite")]


WRONG: dict[str, tuple[str, Any, str, str]] = {
    "negative tokens": ("prompt_tokens", -5, "prompt_tokens", "negative"),
    "absurd tokens": ("completion_tokens", 2**31, "completion_tokens", "absurd"),
    "tokens as text": ("prompt_tokens", "12", "prompt_tokens", "wrong_type"),
    "no start": ("startTime", None, "startTime", "missing"),
    "a clock ahead": ("startTime", 1796100000.0, "startTime", "in_future"),
    "an end before the start": ("endTime", 1796023000.0, "endTime", "out_of_order"),
    "a status not known": ("status", "pending", "status", "unknown_word"),
    "metadata of the wrong type": ("metadata", 7, "metadata", "wrong_type"),
    "usage of the wrong type": ("metadata.usage_object", 3, "metadata.usage_object", "wrong_type"),
    "a negative cost": ("response_cost", -0.5, "response_cost", "out_of_range"),
    "a NUL in a label": ("metadata.user_api_key_team_id", "a\0b", "metadata.user_api_key_team_id", "nul_byte"),
}


@pytest.mark.parametrize(("path", "value", "field", "code"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("shape", ["array", "ndjson"])
def test_a_wrong_payload_is_named_and_keeps_no_bodies(path: str, value: Any, field: str, code: str, shape: str) -> None:
    wrong = changed(streamed() | {"messages": [{"content": "the secret"}], "error_str": "the secret"}, path, value)
    texts = [json.dumps(streamed() | {"id": "a"}), json.dumps(wrong), json.dumps(streamed() | {"id": "b"})]
    records, rejected = read((f"[{','.join(texts)}]" if shape == "array" else "\n".join(texts)).encode())
    assert records.positions.tolist() == [0, 2]
    assert (1, field, code) in [(problem.record, problem.field, problem.code) for problem in rejected[0].problems]
    assert "the secret" not in rejected[0].payload and "choices" not in rejected[0].payload
    assert json.loads(rejected[0].payload)


def test_the_source_is_told_by_the_first_fields() -> None:
    assert sniffed_kind(json.dumps([streamed()]).encode()) == "litellm"
    assert sniffed_kind(b'{"id":"a","started_at":1,"call_id":"x"}') == "native"
    assert sniffed_kind(b'{"id":"a"}') == "native"


PATHS = ["id", "startTime", "stream", "status", "prompt_tokens", "metadata", "metadata.usage_object", "response"]
PATHS += ["metadata.requester_metadata", "metadata.requester_metadata.attempt", "error_information", "response_cost"]
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("MaxDepthExceeded")),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(PATHS), JSON, st.booleans())
def test_no_value_anywhere_breaks_the_reader_or_loses_a_neighbour(path: str, value: Any, array: bool) -> None:
    texts = [json.dumps(streamed() | {"id": "a"}), json.dumps(changed(streamed(), path, value))]
    texts.append(json.dumps(streamed() | {"id": "b"}))
    records, rejected = read((f"[{','.join(texts)}]" if array else "\n".join(texts)).encode())
    assert {0, 2} <= set(records.positions.tolist())
    assert len(records) + len(rejected) == 3


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 12_000), st.binary(max_size=4))
def test_no_damage_breaks_the_reader(at: int, noise: bytes) -> None:
    text = json.dumps(streamed()).encode()
    damaged = text[:at] + noise + text[at + len(noise) :]
    for body in (text + b"\n" + damaged + b"\n" + text, b"[" + text + b"," + damaged + b"]", damaged[: at + 1]):
        try:
            reader = Reader(litellm, "x", to_micros(NOW), b"k")
            list(reader.chunks([body]))
        except InvalidInput:
            continue
