"""``/metrics`` of the engines, old names and new."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.engines import get_engine, prometheus
from benchgate.records import ServerMetricsSnapshot
from tests.unit.engines.logs import FIXTURES

AT = "2026-11-30T09:05:00Z"


def page(name: str) -> str:
    return gzip.decompress((FIXTURES / name).read_bytes()).decode()


def test_a_real_page_under_load() -> None:
    snapshot = get_engine("vllm").parse_metrics(page("vllm-0.26.0-metrics-64-users.txt.gz"), AT)

    assert snapshot == ServerMetricsSnapshot(
        at=AT, running=64, waiting=0, kv_use=0.008197579668693389, prompt_tokens_total=75190, generation_tokens_total=92560,
        prefix_cache_queries_total=75190, prefix_cache_hits_total=6512, preemptions_total=0,
    )  # fmt: skip


def test_an_idle_page_has_zeros_and_not_unknowns() -> None:
    snapshot = get_engine("vllm").parse_metrics(page("vllm-0.26.0-metrics-idle.txt.gz"), AT)

    assert (snapshot.running, snapshot.generation_tokens_total, snapshot.kv_use) == (0, 0, 0)


def test_old_names() -> None:
    text = """
vllm:num_requests_running{model_name="m"} 3.0
vllm:num_requests_waiting{model_name="m"} 1.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:cpu_cache_usage_perc{model_name="m"} 0.9
vllm:gpu_prefix_cache_queries_total{model_name="m"} 100.0
vllm:gpu_prefix_cache_hits_total{model_name="m"} 40.0
vllm:prompt_tokens_total{model_name="m"} 1e+03
vllm:generation_tokens_total{model_name="m"} 2000
vllm:num_preemptions_total{model_name="m"} 7
"""

    snapshot = get_engine("vllm").parse_metrics(text, AT)

    assert snapshot == ServerMetricsSnapshot(
        at=AT, running=3, waiting=1, kv_use=0.25, prompt_tokens_total=1000, generation_tokens_total=2000,
        prefix_cache_queries_total=100, prefix_cache_hits_total=40, preemptions_total=7,
    )  # fmt: skip


def test_engines_add_up_and_their_kv_use_is_averaged() -> None:
    text = "\n".join(
        f'vllm:num_requests_running{{engine="{i}",model_name="m"}} {i}\nvllm:kv_cache_usage_perc{{engine="{i}"}} 0.{i}\nvllm:generation_tokens_total{{engine="{i}"}} 10'
        for i in range(4)
    )

    snapshot = get_engine("vllm").parse_metrics(text, AT)

    assert (snapshot.running, snapshot.generation_tokens_total) == (6, 40)
    assert snapshot.kv_use == pytest.approx(0.15)
    assert snapshot.waiting is None


def test_sglang() -> None:
    text = """
# TYPE sglang:token_usage gauge
sglang:token_usage{model_name="m",tp_rank="0",dp_rank="0"} 0.5
sglang:token_usage{model_name="m",tp_rank="0",dp_rank="1"} 0.25
sglang:num_running_reqs{dp_rank="0"} 8.0
sglang:num_running_reqs{dp_rank="1"} 4.0
sglang:num_queue_reqs{dp_rank="0"} 2.0
sglang:prompt_tokens_total{model_name="m"} 5000.0
sglang:cached_tokens_total{model_name="m"} 1000.0
sglang:generation_tokens_total{model_name="m"} 700.0
sglang:num_retracted_requests_total{model_name="m"} 2
"""

    snapshot = get_engine("sglang").parse_metrics(text, AT)

    assert snapshot == ServerMetricsSnapshot(
        at=AT, running=12, waiting=2, kv_use=0.375, prompt_tokens_total=5000, generation_tokens_total=700,
        prefix_cache_queries_total=5000, prefix_cache_hits_total=1000, preemptions_total=2,
    )  # fmt: skip


def test_an_empty_page_knows_nothing() -> None:
    for engine in ("vllm", "sglang"):
        snapshot = get_engine(engine).parse_metrics("", AT)
        assert snapshot == ServerMetricsSnapshot(at=AT)


def test_numbers_that_are_none_are_left_out() -> None:
    assert prometheus.parse('a 1\na NaN\na +Inf\na nonsense\na{x="}"} 2 1700000000\n# a 9\n').samples == {
        "a": [1.0, 2.0]
    }


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    prometheus.parse(text)


def test_a_real_page_of_sglang() -> None:
    snapshot = get_engine("sglang").parse_metrics(page("sglang-0.5.17-metrics.txt.gz"), AT)

    assert (snapshot.running, snapshot.waiting, snapshot.kv_use) == (0, 0, 0)
    assert (snapshot.prompt_tokens_total, snapshot.generation_tokens_total) == (7, 16)
    assert snapshot.preemptions_total is None
