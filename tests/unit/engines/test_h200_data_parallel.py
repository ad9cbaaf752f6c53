"""Four data-parallel replicas, as gpt-oss-120b-h200-dp4 starts them on a quad.

No log of four replicas on H200s exists yet. So the prefixes are proven on a real one (vLLM 0.27.1, four replicas on a
CPU, a tiny gpt-oss), and what those replicas would say on a quad is put together here from the real log of one replica
of gpt-oss-120b on an H200 with those prefixes: an assumption, as far as the words of 0.26.0 go.
"""

from __future__ import annotations

import re

import pytest

from benchgate.engines import get_engine
from benchgate.engines.base import LogFacts
from tests.unit.engines.logs import capture, value

ONE_REPLICA = 1_653_780  # tokens, gpt-oss-120b with random weights on one H200, 128K context


def four_on_a_cpu() -> LogFacts:
    return get_engine("vllm").parse_log(capture("vllm-0.27.1-cpu-data-parallel-4.log"))


def quad(ranks: int = 4) -> list[str]:
    """The H200 log with every engine line said by ``ranks`` replicas, one line of each in turn."""
    lines = []
    for raw in capture("h200-120b-triton-verbose-jit.log"):
        line = raw.decode("utf-8", "replace")
        line = line.replace("data_parallel_size=1", "data_parallel_size=4").replace(
            "'load_format': 'dummy'", "'data_parallel_size': 4, 'load_format': 'dummy'"
        )
        if "(EngineCore pid=642)" in line:
            lines += [
                line.replace("(EngineCore pid=642)", f"(EngineCore_DP{rank} pid={642 + rank})") for rank in range(ranks)
            ]
        else:
            lines.append(line)
    return lines


def test_a_real_start_of_four_replicas_sums_their_pools() -> None:
    facts = four_on_a_cpu()

    assert value(facts, "data_parallel_size") == 4
    assert value(facts, "kv_ranks") == 4
    assert value(facts, "kv_tokens") == 4 * 2_033_601
    assert value(facts, "max_concurrency") == pytest.approx(4 * 992.97)
    assert value(facts, "kv_meaning") == "max_concurrency_x_max_model_len"
    assert facts.ready
    assert facts.failure is None


def test_a_real_log_of_four_replicas_has_the_prefixes_that_the_quad_below_is_made_of() -> None:
    text = b"".join(capture("vllm-0.27.1-cpu-data-parallel-4.log")).decode("utf-8", "replace")

    assert set(re.findall(r"\(EngineCore_DP(\d) pid=\d+\) INFO .*KV cache size", text)) == {"0", "1", "2", "3"}


def test_a_quad_proves_kernel_pool_and_weights() -> None:
    facts = get_engine("vllm").parse_log(quad())

    assert value(facts, "moe_kernel") == "triton"
    assert value(facts, "kv_ranks") == 4
    assert value(facts, "kv_tokens") == 4 * ONE_REPLICA == 6_615_120
    assert value(facts, "max_concurrency") == pytest.approx(4 * 12.62)
    assert value(facts, "weights_gib") == 61.43  # of one replica: each has its own
    assert facts.ready


def test_a_replica_that_does_not_state_its_pool_is_missed_by_the_proof_that_the_campaign_asks_for() -> None:
    facts = get_engine("vllm").parse_log(quad(ranks=3))

    assert value(facts, "kv_ranks") == 3  # the campaign claims 4
    assert str(value(facts, "kv_meaning")).endswith("_of_3_of_4_ranks")
    assert any("3 of 4 data-parallel ranks" in warning.text for warning in facts.warnings)


def test_one_replica_on_another_kernel_is_told() -> None:
    lines = [
        line.replace("Using OAITritonMxfp4ExpertsMonolithic", "Using MarlinExperts") if "_DP2 " in line else line
        for line in quad()
    ]
    facts = get_engine("vllm").parse_log(lines)

    assert any("another MoE kernel is named as well" in warning.text for warning in facts.warnings)


def test_kernels_that_any_replica_compiles_under_load_are_events() -> None:
    assert len(get_engine("vllm").compile_events(quad())) == 4 * 3
