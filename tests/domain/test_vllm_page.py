"""vLLM's /metrics page: right values from captured pages, and a reason for every page that is none."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.ingest.domain.engine_sample import EngineSample, GaugePoint, PageProblem
from apps.ingest.domain.prometheus_text import parse_series, parse_value
from apps.ingest.sources.vllm import read_page

DATA = Path(__file__).parents[1] / "data" / "vllm"
RECORDED = Path(__file__).parents[2] / "recordings" / "two-engines" / "metrics"

SMALLEST = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:prompt_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="0",model_name="m"} 20.0
"""


def captured(name: str) -> EngineSample:
    return read_page((DATA / name).read_bytes())


def total(sample: EngineSample, name: str) -> float:
    return sum(sample.counters[name].values())


def test_two_engines_on_one_page_are_summed_and_stay_apart() -> None:
    sample = captured("dp2-multiprocess-busy.prom")
    assert total(sample, "prompt_tokens") == 19996 + 17880
    assert total(sample, "generation_tokens") == 3654 + 3426
    assert total(sample, "prompt_tokens_by_source.local_cache_hit") == 6784 + 4992
    assert total(sample, "http_requests.2xx") == 125
    assert len(sample.counters["prompt_tokens"]) == 2
    assert sum(point.cumulative[-1] for point in sample.histograms["ttft"].values()) == 69 + 68
    assert sample.process_start is None, "no process metrics in multiprocess mode"
    assert sample.created is None
    assert sample.model == "example/tiny-llama"


def test_kv_cache_at_its_limit_and_preemptions() -> None:
    sample = captured("preemption-kvfull.prom")
    assert sample.gauges["kv_usage"] == GaugePoint(1.0, 1.0)
    assert sample.gauges["running"].value == 4
    assert sample.gauges["waiting"].value == 8, "waiting_by_reason is a breakdown, not more of it"
    assert sample.gauges["kv_capacity_tokens"].value == 1536
    assert total(sample, "preemptions") > 0


def test_speculative_decoding() -> None:
    sample = captured("specdecode-ngram-after.prom")
    assert total(sample, "spec_drafts") == 726
    assert total(sample, "spec_draft_tokens") == 1959
    assert total(sample, "spec_accepted_tokens") == 1570
    assert [total(sample, f"spec_accepted_per_pos.{place}") for place in range(3)] == [641, 577, 352]
    assert total(sample, "prompt_tokens") == 62366
    assert total(sample, "cached_prompt_tokens") == 23168


def test_old_names_behind_ray() -> None:
    sample = captured("ray-v0.prom")
    assert total(sample, "prompt_tokens") == 58
    assert sample.gauges["kv_usage"].value == 5.882698982295764e-05
    (point,) = sample.histograms["itl"].values()
    assert point.cumulative[-1] == 299
    assert point.sum == 16.178537607192993
    assert point.bounds[-1] == 2.5


@pytest.mark.parametrize("prefix", ["vllm:", "vllm_", "ray_vllm:", "ray_vllm_"])
def test_rewritten_prefixes(prefix: str) -> None:
    sample = read_page(SMALLEST.replace("vllm:", prefix).encode())
    assert total(sample, "prompt_tokens") == 100


def test_where_two_spellings_of_a_metric_are_shown_one_counts() -> None:
    page = SMALLEST + (
        'vllm:prompt_tokens{engine="0",model_name="m"} 100.0\n'
        'vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.1\n'
        'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.2\n'
    )
    sample = read_page(page.encode())
    assert total(sample, "prompt_tokens") == 100
    assert sample.gauges["kv_usage"].value == 0.2


def test_a_histogram_whose_name_ends_like_a_counters() -> None:
    page = SMALLEST + (
        'vllm:iteration_tokens_total_bucket{model_name="m",le="1.0"} 2.0\n'
        'vllm:iteration_tokens_total_bucket{model_name="m",le="8.0"} 5.0\n'
        'vllm:iteration_tokens_total_bucket{model_name="m",le="+Inf"} 6.0\n'
        'vllm:iteration_tokens_total_count{model_name="m"} 6.0\n'
        'vllm:iteration_tokens_total_sum{model_name="m"} 40.0\n'
    )
    (point,) = read_page(page.encode()).histograms["iteration_tokens"].values()
    assert (point.bounds, point.cumulative, point.sum) == ((1.0, 8.0), (2.0, 5.0, 6.0), 40.0)


def test_several_models_on_one_page() -> None:
    page = SMALLEST + 'vllm:prompt_tokens_total{engine="0",model_name="n"} 7.0\n'
    sample = read_page(page.encode())
    assert sample.model == "m, n"
    assert total(sample, "prompt_tokens") == 107


def test_label_values_that_break_splitters() -> None:
    name = 'a} 1,b="c d'
    escaped = name.replace('"', '\\"')
    page = SMALLEST + f'vllm:prompt_tokens_total{{engine="1",model_name="{escaped}"}} 11.0 1700000000000\n'
    sample = read_page(page.encode())
    assert total(sample, "prompt_tokens") == 111
    assert name in sample.model


@pytest.mark.parametrize("value", ["NaN", "nan", "-nan", "+Inf"])
def test_a_value_that_is_no_number_is_missing(value: str) -> None:
    page = SMALLEST + f'vllm:kv_cache_usage_perc{{model_name="m"}} {value}\n'
    assert "kv_usage" not in read_page(page.encode()).gauges


@pytest.mark.parametrize(
    "line",
    [
        'vllm:num_preemptions_total{model_name="m} 1.0',
        'vllm:num_preemptions_total{model_name="m"} many',
        'vllm:num_preemptions_total{model_name="m"}',
        "!!! 17",
        "vllm:num_preemptions_total",
        '\x00\xff{"a"} 1',
    ],
)
def test_one_bad_line_leaves_the_rest(line: str) -> None:
    lines = SMALLEST.splitlines()
    page = "\n".join([*lines[:2], line, *lines[2:]]) + "\n"
    sample = read_page(page.encode())
    assert total(sample, "generation_tokens") == 20
    assert sample.notes
    assert "line 3" in sample.notes[0]


def test_a_series_twice_counts_once() -> None:
    sample = read_page((SMALLEST + SMALLEST).encode())
    assert total(sample, "prompt_tokens") == 100
    assert any("twice" in note for note in sample.notes)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"  \n\n", "empty"),
        (b"<!doctype html><html><body>login</body></html>", "HTML"),
        (b'{"detail": "Not Found"}', "JSON"),
        (b"[]", "JSON"),
        (b"hello there\n", "not a metrics page"),
        (b"# TYPE up gauge\nup 1\n", "not of vllm"),
        (b'sglang:num_running_reqs{model_name="m"} 1.0\n', "not of vllm"),
        (b'vllm:num_requests_running{server="http://a:8000"} 1.0\n', "router"),
        (SMALLEST[: SMALLEST.index("20.0") + 1].encode(), "middle of a line"),
        ("\n".join(SMALLEST.splitlines()[:3]).encode() + b"\n", "generation_tokens missing"),
        (
            SMALLEST.encode() + b'vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.1"} 1.0\n',
            "the buckets of ttft do not end",
        ),
    ],
)
def test_a_page_that_is_none_says_why(body: bytes, reason: str) -> None:
    with pytest.raises(PageProblem, match=reason):
        read_page(body)


def test_half_of_every_recorded_kind_of_page_is_refused_or_whole_in_what_it_says() -> None:
    page = gzip.decompress(next(iter(sorted((RECORDED / "granite-small-0").glob("*.gz")))).read_bytes())
    whole = read_page(page)
    for cut in range(0, len(page), 997):
        try:
            sample = read_page(page[:cut])
        except PageProblem:
            continue
        for name, series in sample.counters.items():
            assert series == whole.counters[name] or name.startswith(("http_requests", "requests_finished"))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 5))
def test_any_bytes_among_the_lines_do_no_harm(junk: bytes, place: int) -> None:
    lines = SMALLEST.encode().splitlines(keepends=True)
    page = b"".join([*lines[:place], b"\n", junk.replace(b"\r", b""), b"\n", *lines[place:]])
    try:
        sample = read_page(page)
    except PageProblem as problem:
        assert str(problem)
    else:
        assert total(sample, "prompt_tokens") >= 100


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), st.text(max_size=12), max_size=4),
    st.floats(allow_nan=False),
)
def test_what_is_written_by_the_book_is_read_back(labels: dict[str, str], value: float) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    head = "x:y_total{" + ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items()) + "}"
    name, read, end = parse_series(f"{head} {value!r}")
    assert (name, dict(read), end) == ("x:y_total", labels, len(head))
    assert parse_value(f" {value!r} 123") == value


def test_time_is_linear_in_the_page() -> None:
    """A page 16 times as long, of lines that all must be parsed anew, takes about 16 times as long."""

    def seconds(lines: int, salt: str) -> float:
        body = "".join(f'vllm:num_preemptions_total{{engine="{salt}{n}",model_name="m"}} 1.0\n' for n in range(lines))
        page = (SMALLEST + body).encode()
        began = time.perf_counter()
        read_page(page)
        return time.perf_counter() - began

    short = min(seconds(1000, f"a{n}-") for n in range(3))
    assert seconds(16_000, "b") < 16 * 6 * short
