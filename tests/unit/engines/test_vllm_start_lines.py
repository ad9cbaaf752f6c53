"""Version, weights, load, graphs and readiness in the words of vLLM's versions."""

from __future__ import annotations

import pytest

from tests.unit.engines.logs import value, vllm


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("INFO 12-02 10:00:00 api_server.py:651] vLLM API server version 0.6.6.post1", "0.6.6.post1"),
        (
            "(APIServer pid=1) INFO 10-26 [api_server.py:1869] vLLM API server version 0.11.1rc4.dev6+g66a168a19",
            "0.11.1rc4.dev6+g66a168a19",
        ),
        ("INFO 12-02 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: model='m'", "0.6.6"),
        ("INFO 12-02 llm_engine.py:234] Initializing a V0 LLM engine (v0.7.2) with config: model='m'", "0.7.2"),
        (
            "(APIServer pid=1) INFO [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.1rc1.dev301+g60995c05b",
            "0.19.1rc1.dev301+g60995c05b",
        ),
    ],
)
def test_engine_version(line: str, version: str) -> None:
    assert value(vllm(line), "engine_version") == version


@pytest.mark.parametrize(
    ("line", "gib", "seconds"),
    [
        ("Loading model weights took 14.9888 GB", 14.9888, None),
        ("Model loading took 12.8848 GiB and 3.081864 seconds", 12.8848, 3.081864),
        ("Model loading took 12.8848 GB and 3.081864 seconds", 12.8848, 3.081864),
        ("Model loading took 61.43 GiB memory and 4.466482 seconds", 61.43, 4.466482),
    ],
)
def test_weights_and_load(line: str, gib: float, seconds: float | None) -> None:
    facts = vllm(f"(Worker_TP0 pid=5) INFO 08-30 [gpu_model_runner.py:1] {line}")

    assert value(facts, "weights_gib") == gib
    assert value(facts, "load_seconds") == seconds


def test_reading_weights_is_the_load_when_nothing_else_is_said() -> None:
    assert value(vllm("INFO [default_loader.py:262] Loading weights took 2.30 seconds"), "load_seconds") == 2.30


@pytest.mark.parametrize(
    ("line", "seconds", "compiled"),
    [
        ("init engine (profile, create kv cache, warmup model) took 196.18 seconds", 196.18, None),
        ("init engine (profile, create kv cache, warmup model) took 212.68 s (compilation: 13.01 s)", 212.68, 13.01),
        (
            "init engine (profile, create kv cache, warmup model) took 70.00 s (compilation: 12.50 s — language_model: 10.00 s, encoder: 2.50 s)",
            70.0,
            12.5,
        ),
    ],
)
def test_init(line: str, seconds: float, compiled: float | None) -> None:
    facts = vllm(f"(EngineCore_DP0 pid=5) INFO 08-30 [core.py:1] {line}")

    assert value(facts, "init_seconds") == seconds
    assert value(facts, "compile_seconds") == compiled


def test_graphs_of_the_vision_encoder_are_not_the_models() -> None:
    facts = vllm(
        "INFO [x.py:1] Graph capturing finished in 106 secs, took 0.72 GiB",
        "INFO [x.py:1] Encoder graph capturing finished in 500 secs, took 9.00 GiB (3 graphs)",
    )

    assert value(facts, "graph_capture_seconds") == 106
    assert value(facts, "graph_capture_gib") == 0.72


@pytest.mark.parametrize(
    "line",
    [
        "INFO:     Application startup complete.",
        "(APIServer pid=1) INFO:     Application startup complete.",
        "\x1b[32mINFO\x1b[0m:     Application startup complete.",
    ],
)
def test_ready(line: str) -> None:
    assert vllm(line).ready


@pytest.mark.parametrize(
    "line",
    [
        "Starting vLLM API server on http://0.0.0.0:5306",
        "Starting vLLM server on http://0.0.0.0:8000",
        "INFO:     Waiting for application startup.",
    ],
)
def test_announcing_is_not_being_ready(line: str) -> None:
    assert not vllm(line).ready


def test_an_ignored_environment_variable_is_a_warning() -> None:
    facts = vllm("WARNING [envs.py:1710] Unknown vLLM environment variable detected: VLLM_MXFP4_BACKEND")

    assert len(facts.warnings) == 1
    assert facts.warnings[0].line == 1


def test_secrets_in_start_arguments_are_masked_in_evidence() -> None:
    facts = vllm(
        "(APIServer pid=1) INFO [utils.py:273] non-default args: {'model': 'm', 'api_key': ['my-own-key'], 'hf_token': 'zzz-token', 'data_parallel_size': 2}"
    )

    texts = " ".join(proof.evidence.text for proof in facts.proofs.values())
    assert value(facts, "data_parallel_size") == 2
    assert "my-own-key" not in texts
    assert "zzz-token" not in texts
