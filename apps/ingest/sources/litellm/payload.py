"""The part of LiteLLM's StandardLoggingPayload that is decoded; the rest is passed over and never built in memory."""

from __future__ import annotations

import msgspec

from apps.ingest.domain.validation import Spoken

Text = str | None
Number = int | None
# Nested objects may come as a text: the serialiser's marker for what it could not write.


class Headers(msgspec.Struct, gc=False):
    task_id: Text = msgspec.field(name="x-task-id", default=None)
    attempt: Text = msgspec.field(name="x-attempt", default=None)
    step: Text = msgspec.field(name="x-step", default=None)
    endpoint: Text = msgspec.field(name="x-endpoint", default=None)


class Requester(msgspec.Struct, gc=False):
    task_id: str | int | None = None
    attempt: str | int | float | None = None
    step: str | int | float | None = None
    endpoint: Text = None
    team: Text = None
    headers: Headers | str | None = None


class InputDetails(msgspec.Struct, gc=False):
    cached_tokens: Number = None
    cache_creation_tokens: Number = None
    cache_write_tokens: Number = None
    created_cache_tokens: Number = None


class OutputDetails(msgspec.Struct, gc=False):
    reasoning_tokens: Number = None


class Usage(msgspec.Struct, gc=False):
    prompt_tokens: Number = None
    completion_tokens: Number = None
    cache_read_input_tokens: Number = None
    cache_creation_input_tokens: Number = None
    prompt_tokens_details: InputDetails | str | None = None
    completion_tokens_details: OutputDetails | str | None = None


class KeyMetadata(msgspec.Struct, gc=False):
    endpoint: Text = None


class Pod(msgspec.Struct, gc=False):
    pod_ip: Text = None


class Metadata(msgspec.Struct, gc=False):
    user_api_key_hash: Text = None
    user_api_key_alias: Text = None
    user_api_key_team_id: Text = None
    user_api_key_team_alias: Text = None
    user_api_key_end_user_id: Text = None
    internal_call_origin: Text = None
    is_silent_experiment: bool | None = None
    requester_metadata: Requester | str | None = None
    requester_custom_headers: Headers | str | None = None
    usage_object: Usage | str | None = None
    user_api_key_auth_metadata: KeyMetadata | str | None = None
    kubernetes_pod_routing: Pod | str | None = None


class ErrorInformation(msgspec.Struct, gc=False):
    error_code: str | int | None = None
    error_class: Text = None


class Choice(msgspec.Struct, gc=False):
    finish_reason: Text = None


class Response(msgspec.Struct, gc=False):
    choices: list[Choice] | str | None = None


class Payload(msgspec.Struct, gc=False):
    startTime: float | str | None = None  # noqa: N815
    endTime: float | str | None = None  # noqa: N815
    completionStartTime: float | str | None = None  # noqa: N815
    id: Text = None
    litellm_call_id: Text = None
    trace_id: Text = None
    session_id: Text = None
    call_type: Text = None
    stream: bool | None = None
    status: Text = None
    custom_llm_provider: Text = None
    model: Text = None
    model_group: Text = None
    model_id: Text = None
    api_base: Text = None
    prompt_tokens: Number = None
    completion_tokens: Number = None
    response_cost: float | None = None
    end_user: Text = None
    error_information: ErrorInformation | str | None = None
    metadata: Metadata | str | None = None
    response: Response | str | None = None


SPOKEN = Spoken(
    {
        "started_us": "startTime",
        "ended_us": "endTime",
        "first_token_us": "completionStartTime",
        "input_tokens": "prompt_tokens",
        "output_tokens": "completion_tokens",
        "cache_read_tokens": "metadata.usage_object.prompt_tokens_details.cached_tokens",
        "cache_write_tokens": "metadata.usage_object.cache_creation_input_tokens",
        "reasoning_tokens": "metadata.usage_object.completion_tokens_details.reasoning_tokens",
        "call_id": "litellm_call_id",
        "span_id": "id",
        "task_id": "metadata.requester_metadata.task_id",
        "team": "metadata.user_api_key_team_id",
        "endpoint": "metadata.user_api_key_auth_metadata.endpoint",
        "key_alias": "metadata.user_api_key_alias",
        "key_hash": "metadata.user_api_key_hash",
        "model_requested": "model_group",
        "model_served": "model",
        "backend": "api_base",
        "replica": "metadata.kubernetes_pod_routing.pod_ip",
        "provider": "custom_llm_provider",
        "charge_amount": "response_cost",
    }
)
