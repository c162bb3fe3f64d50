"""vLLM's /metrics page into an EngineSample: V1 and V0 names, also as Ray and OpenTelemetry rewrite them."""

from __future__ import annotations

from apps.ingest.domain.engine_sample import EngineSample
from apps.ingest.domain.engine_table import Kind, Metric, TableReader

ENGINE = "vllm"

TABLE: tuple[Metric, ...] = (
    Metric("process_start", Kind.PROCESS_START, ("process_start_time_seconds",)),
    Metric("running", Kind.GAUGE_SUM, ("vllm:num_requests_running",)),
    Metric("waiting", Kind.GAUGE_SUM, ("vllm:num_requests_waiting",)),
    Metric("kv_usage", Kind.GAUGE_MEAN, ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")),
    Metric("awake", Kind.GAUGE_MEAN, ("vllm:engine_sleep_state",), only=("sleep_state", "awake")),
    Metric("kv_capacity_tokens", Kind.LABEL_SUM, ("vllm:cache_config_info",), label="kv_cache_size_tokens"),
    Metric("kv_blocks", Kind.LABEL_SUM, ("vllm:cache_config_info",), label="num_gpu_blocks"),
    Metric("prompt_tokens", Kind.COUNTER, ("vllm:prompt_tokens",)),
    Metric("prompt_tokens_by_source", Kind.COUNTER, ("vllm:prompt_tokens_by_source",), by="source"),
    Metric("generation_tokens", Kind.COUNTER, ("vllm:generation_tokens",)),
    Metric("cached_prompt_tokens", Kind.COUNTER, ("vllm:prompt_tokens_cached",)),
    Metric("prefix_queries", Kind.COUNTER, ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")),
    Metric("prefix_hits", Kind.COUNTER, ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")),
    Metric("external_prefix_queries", Kind.COUNTER, ("vllm:external_prefix_cache_queries",)),
    Metric("external_prefix_hits", Kind.COUNTER, ("vllm:external_prefix_cache_hits",)),
    Metric("preemptions", Kind.COUNTER, ("vllm:num_preemptions",)),
    Metric("requests_finished", Kind.COUNTER, ("vllm:request_success",), by="finished_reason"),
    Metric("requests_rejected", Kind.COUNTER, ("vllm:admission_rejections",), by="reason"),
    Metric("spec_drafts", Kind.COUNTER, ("vllm:spec_decode_num_drafts",)),
    Metric("spec_draft_tokens", Kind.COUNTER, ("vllm:spec_decode_num_draft_tokens",)),
    Metric("spec_accepted_tokens", Kind.COUNTER, ("vllm:spec_decode_num_accepted_tokens",)),
    Metric("spec_accepted_per_pos", Kind.COUNTER, ("vllm:spec_decode_num_accepted_tokens_per_pos",), by="position"),
    Metric("http_requests", Kind.COUNTER, ("http_requests",), by="status"),
    Metric("ttft", Kind.HISTOGRAM, ("vllm:time_to_first_token_seconds",)),
    Metric("itl", Kind.HISTOGRAM, ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")),
    Metric("tpot", Kind.HISTOGRAM, ("vllm:request_time_per_output_token_seconds",)),
    Metric("e2e", Kind.HISTOGRAM, ("vllm:e2e_request_latency_seconds",)),
    Metric("queue_time", Kind.HISTOGRAM, ("vllm:request_queue_time_seconds", "vllm:time_in_queue_requests")),
    Metric("prefill_time", Kind.HISTOGRAM, ("vllm:request_prefill_time_seconds",)),
    Metric("decode_time", Kind.HISTOGRAM, ("vllm:request_decode_time_seconds",)),
    Metric("inference_time", Kind.HISTOGRAM, ("vllm:request_inference_time_seconds",)),
    Metric("iteration_tokens", Kind.HISTOGRAM, ("vllm:iteration_tokens_total", "vllm:iteration_tokens")),
    Metric("request_prompt_tokens", Kind.HISTOGRAM, ("vllm:request_prompt_tokens",)),
    Metric("request_generation_tokens", Kind.HISTOGRAM, ("vllm:request_generation_tokens",)),
)
"""Canonical name -> names on the page. docs/metrics.md explains each."""


def _is_router_view(labels: dict[str, str]) -> bool:
    """A production-stack router re-exports vllm: names by server; adding them to the engines' would count twice."""
    return "server" in labels and "model_name" not in labels


_READER = TableReader(
    ENGINE,
    TABLE,
    prefix="vllm:",
    prefixes=("vllm:", "vllm_", "ray_vllm:", "ray_vllm_"),
    required=("prompt_tokens", "generation_tokens"),
    foreign=_is_router_view,
)


def read_page(page: bytes) -> EngineSample:
    """The sample that a whole page holds. Raises PageProblem, with the reason, when it is no whole vLLM page."""
    return _READER.read(page)
