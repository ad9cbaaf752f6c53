"""vLLM's adapter on whole logs that real servers wrote."""

from __future__ import annotations

import pytest

from benchgate.engines import get_engine
from benchgate.records import FailureKind
from tests.unit.engines.logs import FIXTURES, capture, value, vllm


def read(name: str):
    return get_engine("vllm").parse_log(capture(name))


def test_first_start_on_an_h200_is_proven_completely() -> None:
    facts = read("vllm-0.26.0-h200-gpt-oss-20b.log")

    assert {name: value(facts, name) for name in (
        "engine_version", "moe_kernel", "attention_backend", "kv_tokens", "max_concurrency", "max_concurrency_tokens",
        "weights_gib", "load_seconds", "weights_read_seconds", "graph_capture_seconds", "graph_capture_gib", "init_seconds",
        "compile_seconds", "memory_reserved_gib", "memory_budget_gib", "max_model_len", "dtype", "served_model",
    )} == {
        "engine_version": "0.26.0", "moe_kernel": "triton", "attention_backend": "FLASH_ATTN", "kv_tokens": 4341772,
        "max_concurrency": 33.13, "max_concurrency_tokens": 131072, "weights_gib": 13.03, "load_seconds": 3.008793,
        "weights_read_seconds": 1.76, "graph_capture_seconds": 65.0, "graph_capture_gib": 1.03, "init_seconds": 108.09,
        "compile_seconds": 19.34, "memory_reserved_gib": 111.91, "memory_budget_gib": 128.62, "max_model_len": 131072,
        "dtype": "bfloat16", "served_model": "openai/gpt-oss-20b",
    }  # fmt: skip
    assert facts.ready
    assert facts.failure is None


@pytest.mark.parametrize("name", ["vllm-0.26.0-h200-gpt-oss-20b.log", "vllm-0.32.0-cpu-container-gpt-oss.log"])
def test_evidence_is_a_piece_of_the_line_it_names(name: str) -> None:
    lines = [line.decode("utf-8", "replace") for line in capture(name)]

    for proof in read(name).proofs.values():
        assert proof.evidence.line is not None
        assert proof.evidence.text
        assert proof.evidence.text in lines[proof.evidence.line - 1], proof.name


def test_kernels_compiled_while_requests_are_served_are_warnings() -> None:
    facts = read("vllm-0.26.0-h200-gpt-oss-20b-rerun.log")

    compiled = [warning.text for warning in facts.warnings]
    assert len(compiled) == 5
    assert all("JIT compilation during inference" in text for text in compiled)


def test_compile_events_of_the_measured_part_only() -> None:
    engine, lines = get_engine("vllm"), capture("vllm-0.26.0-h200-gpt-oss-20b-rerun.log")

    assert len(engine.compile_events(lines)) == 5
    assert len(engine.compile_events(lines[200:])) == 1
    assert engine.compile_events(lines[600:]) == []


def test_the_memory_line_of_a_healthy_start_is_no_failure() -> None:
    facts = read("vllm-0.26.0-h200-gpt-oss-120b.log")

    assert any(
        b"Free memory on device (139.29/139.8 GiB) on startup. Desired" in line
        for line in capture("vllm-0.26.0-h200-gpt-oss-120b.log")
    )
    assert facts.failure is None
    assert value(facts, "weights_gib") == 61.43
    assert value(facts, "moe_kernel_requested") == "triton"


@pytest.mark.parametrize(
    ("name", "line"), [("vllm-0.27.1-cpu-wrong-vocab.log", 177), ("vllm-0.27.1-cpu-vocab-as-url.log", 178)]
)
def test_a_vocabulary_that_the_first_chat_cannot_read_is_named_although_the_server_came_up(
    name: str, line: int
) -> None:
    facts = read(name)

    assert facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is FailureKind.VOCAB_MISSING
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == line
    assert "invalid tiktoken vocab file" in facts.failure.evidence.text


def test_harmony_faults_of_requests_are_no_launch_failure() -> None:
    facts = read("vllm-0.27.1-cpu-garbled-harmony.log")

    assert facts.ready
    assert facts.failure is None


def test_a_dense_model_has_no_moe_kernel() -> None:
    facts = read("vllm-0.32.0-cpu-tiny-llama.log")

    assert value(facts, "moe_kernel") is None
    assert value(facts, "kv_tokens") == 2097152
    assert value(facts, "kv_meaning") == "max_concurrency_x_max_model_len"
    assert value(facts, "graph_capture_seconds") is None


def test_a_container_on_a_cpu_says_cpu_instead_of_gpu() -> None:
    facts = read("vllm-0.32.0-cpu-container-gpt-oss.log")

    assert value(facts, "engine_version") == "0.32.0"
    assert value(facts, "moe_kernel") == "cpu"
    assert value(facts, "kv_tokens") == 1342177
    assert value(facts, "memory_reserved_gib") == 1.0


def test_a_log_without_any_known_line_proves_nothing() -> None:
    facts = vllm("hello", "", "nothing to see")

    assert facts.proofs == {}
    assert facts.warnings == []
    assert not facts.ready
    assert facts.failure is None
    assert facts.lines == 3


@pytest.mark.parametrize(
    ("name", "kind", "line", "words"),
    [
        ("vllm-0.27.1-cpu-shm-too-small.log", FailureKind.SHM_TOO_SMALL, 70, "Insufficient space in /dev/shm: 160 MiB"),
        ("vllm-0.27.1-cpu-worker-exception.log", FailureKind.ENGINE_CORE_DIED, 59, "Command 'lscpu --json"),
    ],
)
def test_logs_of_servers_that_died_name_the_cause(name: str, kind: FailureKind, line: int, words: str) -> None:
    facts = read(name)

    assert not facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == line
    assert words in facts.failure.evidence.text


def test_an_engine_that_died_of_its_first_request_is_named_by_its_worker() -> None:
    facts = read("vllm-0.27.1-cpu-died-serving.log")

    assert facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is FailureKind.ENGINE_CORE_DIED
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 198
    assert "InvalidCxxCompiler: No working C++ compiler found" in facts.failure.evidence.text


def test_workers_behind_their_engine_are_workers_and_not_replicas() -> None:
    """The words of 0.10.2, put together from public reports: two tensor-parallel workers, Marlin, Triton attention."""
    facts = get_engine("vllm").parse_log((FIXTURES / "vllm-0.10.2-tp2-gpt-oss-120b.log").read_text().splitlines())

    assert {name: value(facts, name) for name in (
        "engine_version", "moe_kernel", "attention_backend", "kv_tokens", "kv_meaning", "max_concurrency", "weights_gib",
        "load_seconds", "graph_capture_seconds", "init_seconds", "memory_reserved_gib", "kv_ranks",
    )} == {
        "engine_version": "0.10.2", "moe_kernel": "marlin", "attention_backend": "TRITON_ATTN", "kv_tokens": 1019616,
        "kv_meaning": "pool_tokens", "max_concurrency": 28.27, "weights_gib": 33.6975, "load_seconds": 12.106979,
        "graph_capture_seconds": 16.0, "init_seconds": 48.32, "memory_reserved_gib": 35.01, "kv_ranks": None,
    }  # fmt: skip
    assert any("Weight-only FP4 compression" in warning.text for warning in facts.warnings)
