"""SGLang's words over its versions."""

from __future__ import annotations

import pytest

from benchgate.engines import get_engine
from tests.unit.engines.logs import capture, sglang, value


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("Detected GPT-OSS model, enabling triton_kernels MOE kernel.", "triton"),
        (
            "Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling triton_kernel MOE kernel.",
            "triton",
        ),
        ("Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling Marlin MOE kernel.", "marlin"),
        (
            "Detected SM100 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer MXFP4 MOE kernel.",
            "flashinfer_mxfp4",
        ),
        (
            "Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling FlashInfer CUTLASS MXFP4 MOE kernel.",
            "flashinfer_cutlass",
        ),
        ("Detected ROCm and MXFP4 quantization format for GPT-OSS model, enabling aiter MXFP4 MOE kernel.", "aiter"),
        ("Detected ROCm with SGLANG_USE_AITER for GPT-OSS bf16 model, using triton MOE kernel.", "triton"),
        ("Use flashinfer_trtllm as MoE runner backend on sm100 for DeepseekV3ForCausalLM", "flashinfer_trtllm"),
        ("Use marlin as MoE runner backend for NemotronH with W4A16_NVFP4 MoE layers", "marlin"),
        ("MOE_RUNNER_BACKEND is not initialized, using triton backend", "triton"),
    ],
)
def test_moe_kernel(line: str, kernel: str) -> None:
    assert value(sglang(f"[2025-11-02 10:00:00] WARNING server_args.py:1165: {line}"), "moe_kernel") == kernel


@pytest.mark.parametrize(
    "line",
    [
        "Attention backend not specified. Use triton backend by default.",
        "SPECULATIVE_MOE_RUNNER_BACKEND is not initialized, using auto backend",
        "Enable piecewise CUDA graph, enabling auto MOE kernel.",
    ],
)
def test_no_moe_kernel(line: str) -> None:
    assert value(sglang(f"[2025-11-02 10:00:00] {line}"), "moe_kernel") is None


@pytest.mark.parametrize(
    ("line", "backend"),
    [
        ("Attention backend not explicitly specified. Use fa3 backend by default.", "fa3"),
        ("Attention backend not specified. Use triton backend by default.", "triton"),
        ("Attention backend not set. Use flashinfer backend by default.", "flashinfer"),
        ("Use trtllm_mha as attention backend for GptOssForCausalLM", "trtllm_mha"),
        ("Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM", "trtllm_mla"),
        (
            "Using hybrid attention backend for decode and prefill: decode_backend=flashinfer, prefill_backend=fa3.",
            "flashinfer",
        ),
        ("server_args=ServerArgs(model_path='m', attention_backend='triton', sampling_backend='flashinfer')", "triton"),
    ],
)
def test_attention_backend(line: str, backend: str) -> None:
    assert value(sglang(f"[2025-11-02 10:00:00] {line}"), "attention_backend") == backend


@pytest.mark.parametrize(
    "line",
    [
        "Using fa3 as multimodal attention backend.",
        "Multimodal attention backend not set. Use fa3.",
        "server_args=ServerArgs(attention_backend=None, mm_attention_backend='fa3')",
    ],
)
def test_no_attention_backend(line: str) -> None:
    assert value(sglang(f"[2025-11-02 10:00:00] {line}"), "attention_backend") is None


def test_weights_of_both_forms() -> None:
    old = sglang(
        "[2025-05-02 10:00:40 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=104.02 GB, mem usage=34.49 GB."
    )
    new = sglang(
        "[2026-05-02 10:00:40 TP0] Load weight end. elapsed=228.09 s, type=GptOssForCausalLM, quant=mxfp4, avail mem=104.02 GB, mem usage=34.49 GB."
    )

    assert value(old, "weights_gib") == value(new, "weights_gib") == 34.49
    assert value(old, "load_seconds") is None
    assert value(new, "load_seconds") == 228.09
    assert value(old, "architecture") == "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("line", "seconds", "gib"),
    [
        ("Capture cuda graph end. Time elapsed: 5.37 s. mem usage=1.44 GB. avail mem=38.05 GB.", 5.37, 1.44),
        (
            "Capture decode CUDA graph end. bs=[1, 2, 4, 8], elapsed=7.25 s, mem usage=1.10 GB, avail mem=30.00 GB.",
            7.25,
            1.10,
        ),
    ],
)
def test_graph_capture(line: str, seconds: float, gib: float) -> None:
    facts = sglang(
        f"[2025-11-02 10:00:00 TP0] {line}",
        "[2025-11-02 10:00:09 TP0] Capture draft cuda graph end. Time elapsed: 99.00 s. mem usage=9.00 GB. avail mem=1.00 GB.",
    )

    assert value(facts, "graph_capture_seconds") == seconds
    assert value(facts, "graph_capture_gib") == gib


def test_uvicorns_startup_is_not_sglangs_ready() -> None:
    assert not sglang("[2025-11-02 10:00:00] INFO:     Application startup complete.").ready
    assert sglang("[2025-11-02 10:00:00] The server is fired up and ready to roll!").ready


def test_a_kernel_that_is_only_an_argument_is_not_proven() -> None:
    facts = sglang("[2025-11-02 10:00:00] server_args=ServerArgs(model_path='m', moe_runner_backend='marlin')")

    assert value(facts, "moe_kernel") is None
    assert value(facts, "moe_kernel_requested") == "marlin"
    assert any("no line says which kernel was bound" in warning.text for warning in facts.warnings)


def test_a_real_start_on_an_h200_is_proven() -> None:
    facts = get_engine("sglang").parse_log(capture("sglang-0.5.17-h200-gpt-oss-20b.log"))

    assert value(facts, "moe_kernel") == "triton"
    assert value(facts, "attention_backend") == "triton"
    assert (value(facts, "kv_tokens"), value(facts, "kv_meaning")) == (2705628, "max_total_num_tokens")
    assert (value(facts, "weights_gib"), value(facts, "load_seconds")) == (15.02, 2.8)
    assert (value(facts, "graph_capture_seconds"), value(facts, "memory_reserved_gib")) == (80.16, 111.46)
    assert value(facts, "ready") is True
    assert facts.warnings == []


def test_a_server_that_was_told_to_stop_died_of_nothing() -> None:
    # SGLang calls its own end a crash of the detokenizer (exit code -15), and /tokenize left tracebacks while it served.
    facts = get_engine("sglang").parse_log(capture("sglang-0.5.17-h200-gpt-oss-20b.log"))

    assert facts.failure is None


def test_the_moe_layer_says_what_it_was_made_with() -> None:
    line = "FlashInfer TRTLLM MoE deferred finalize is disabled (moe_runner_backend={}, quant_method=Mxfp4MoEMethod)."

    assert value(sglang(line.format("marlin")), "moe_kernel") == "marlin"
    assert value(sglang(line.format("auto")), "moe_kernel") is None
