"""The KV pool: its size over ranks and versions, and how the number was formed."""

from __future__ import annotations

import pytest

from tests.unit.engines.logs import sglang, value, vllm


def test_blocks_of_old_versions_are_multiplied_by_the_block_size_that_the_concurrency_line_implies() -> None:
    facts = vllm(
        "INFO 02-20 00:01:02 executor_base.py:110] # CUDA blocks: 1952, # CPU blocks: 2048",
        "INFO 02-20 00:01:02 executor_base.py:115] Maximum concurrency for 20000 tokens per request: 3.12x",
    )

    assert value(facts, "kv_tokens") == 1952 * 32
    assert value(facts, "kv_meaning") == "blocks_x_block_size"


def test_blocks_without_any_word_on_their_size_take_the_default_and_say_so() -> None:
    facts = vllm("INFO 01-30 03:19:14 gpu_executor.py:76] # GPU blocks: 1952, # CPU blocks: 2048")

    assert value(facts, "kv_tokens") == 31232
    assert value(facts, "kv_meaning") == "blocks_x_block_size_16_by_default"


def test_two_lines_of_an_old_version_are_pool_tokens() -> None:
    facts = vllm(
        "INFO 02-19 23:56:55 [core.py:61] Initializing a V1 LLM engine (v0.8.5) with config: model='m'",
        "INFO 02-19 23:56:55 kv_cache_utils.py:524] GPU KV cache size: 2,042,016 tokens",
        "INFO 02-19 23:56:55 kv_cache_utils.py:527] Maximum concurrency for 2,048 tokens per request: 997.08x",
    )

    assert value(facts, "kv_tokens") == 2042016
    assert value(facts, "max_concurrency") == 997.08
    assert value(facts, "kv_meaning") == "pool_tokens"


def test_one_line_is_what_the_pool_holds_at_full_length() -> None:
    facts = vllm(
        "(EngineCore pid=9) INFO [kv_cache_utils.py:2033] GPU KV cache size: 7,228,559 tokens, "
        "Maximum concurrency for 131,072 tokens per request: 55.15x"
    )

    assert value(facts, "kv_tokens") == 7228559
    assert value(facts, "max_concurrency") == 55.15
    assert value(facts, "kv_meaning") == "max_concurrency_x_max_model_len"


@pytest.mark.parametrize(
    ("version", "meaning"),
    [
        ("0.19.0", "pool_tokens"),
        ("0.21.0", "max_concurrency_x_max_model_len"),
        ("0.26.0", "max_concurrency_x_max_model_len"),
    ],
)
def test_the_version_decides_what_two_lines_that_agree_mean(version: str, meaning: str) -> None:
    facts = vllm(
        f"INFO [core.py:116] Initializing a V1 LLM engine (v{version}) with config: model='m'",
        "INFO [kv_cache_utils.py:1] GPU KV cache size: 1,653,780 tokens",
        "INFO [kv_cache_utils.py:2] Maximum concurrency for 131,072 tokens per request: 12.62x",
    )

    assert value(facts, "kv_meaning") == meaning


def test_numbers_that_contradict_the_product_keep_the_older_meaning() -> None:
    facts = vllm(
        "INFO [core.py:116] Initializing a V1 LLM engine (v0.21.0) with config: model='m'",
        "INFO [kv_cache_utils.py:1319] GPU KV cache size: 290,864 tokens",
        "INFO [kv_cache_utils.py:1324] Maximum concurrency for 32,768 tokens per request: 33.04x",
    )

    assert value(facts, "kv_meaning") == "pool_tokens"


@pytest.mark.parametrize(
    "prefix",
    ["(EngineCore_DP{} pid=7{})", "\x1b[1;36m(EngineCore_{} pid=28{})\x1b[0;0m", "(EngineCore_DP{}_TP0 pid=1{})"],
)
def test_replicas_add_up_and_workers_do_not(prefix: str) -> None:
    lines = ["(APIServer pid=1) INFO [utils.py:233] non-default args: {'model': 'm', 'data_parallel_size': 4}"]
    for rank in (2, 0, 3, 1):  # interleaved as they come
        for _worker in range(2):
            lines.append(
                f"{prefix.format(rank, rank)} INFO [kv_cache_utils.py:1] GPU KV cache size: 653,{rank}00 tokens"
            )
            lines.append(
                f"{prefix.format(rank, rank)} INFO [kv_cache_utils.py:2] Maximum concurrency for 131,072 tokens per request: 4.99x"
            )

    facts = vllm(*lines)

    assert value(facts, "kv_tokens") == 4 * 653_000 + 600
    assert value(facts, "max_concurrency") == pytest.approx(4 * 4.99)
    assert value(facts, "kv_ranks") == 4
    assert facts.warnings == []


def test_tensor_parallel_workers_agree_on_the_smallest_pool() -> None:
    facts = vllm(
        "(VllmWorker TP0 pid=11) INFO [kv_cache_utils.py:1] GPU KV cache size: 100,000 tokens",
        "(VllmWorker TP1 pid=12) INFO [kv_cache_utils.py:1] GPU KV cache size: 99,984 tokens",
    )

    assert value(facts, "kv_tokens") == 99_984


def test_a_pool_that_not_every_replica_states_says_so() -> None:
    facts = vllm(
        "(APIServer pid=1) INFO [utils.py:233] non-default args: {'model': 'm', 'data_parallel_size': 4}",
        "(EngineCore_DP0 pid=7) INFO [kv_cache_utils.py:1] GPU KV cache size: 653,000 tokens",
    )

    assert value(facts, "kv_tokens") == 653_000
    assert str(value(facts, "kv_meaning")).endswith("_of_1_of_4_ranks")
    assert any("1 of 4" in warning.text for warning in facts.warnings)


def test_old_memory_profile_names_what_is_reserved() -> None:
    profile = (
        "INFO 12-02 worker.py:267] the current vLLM instance can use total_gpu_memory (79.10GiB) x gpu_memory_utilization (0.90) = 71.19GiB"
        " model weights take 14.99GiB; the rest of the memory reserved for KV Cache is 54.85GiB."
    )

    facts = vllm("INFO model_runner.py:592] Loading model weights took 14.9888 GB", profile)

    assert value(facts, "memory_reserved_gib") == 54.85
    assert value(facts, "memory_budget_gib") == 71.19
    assert value(facts, "weights_gib") == 14.9888


def test_sglang_counts_what_the_scheduler_may_hand_out_over_replicas() -> None:
    pool = "max_total_num_tokens={}, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=16384, available_gpu_mem=13.38 GB"
    facts = sglang(
        "[2025-11-02 10:00:41 DP0 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 387968, K size: 5.92 GB, V size: 5.92 GB",
        *(
            f"[2025-11-02 10:00:52 DP{dp} TP{tp} EP{tp}] {pool.format(2618868 + dp)}"
            for dp, tp in ((0, 0), (1, 0), (0, 1), (1, 1))
        ),
    )

    assert value(facts, "kv_tokens") == 2 * 2618868 + 1
    assert value(facts, "kv_meaning") == "max_total_num_tokens"
    assert value(facts, "memory_reserved_gib") == pytest.approx(11.84)
    assert value(facts, "max_model_len") == 16384


def test_sglang_pool_line_alone_is_another_meaning() -> None:
    facts = sglang("[2025-11-02 10:00:41] KV Cache is allocated. #tokens: 2243474, K size: 59.91 GB, V size: 59.91 GB")

    assert value(facts, "kv_tokens") == 2243474
    assert value(facts, "kv_meaning") == "allocated_pool_tokens"
    assert value(facts, "memory_reserved_gib") == pytest.approx(119.82)
