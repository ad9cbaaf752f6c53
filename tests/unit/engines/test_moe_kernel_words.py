"""Which MoE kernel and attention backend the words of vLLM's versions mean."""

from __future__ import annotations

import pytest

from tests.unit.engines.logs import value, vllm

PREFIX = "(EngineCore_DP0 pid=79) INFO 08-30 12:00:00 [mxfp4.py:166] "


@pytest.mark.parametrize(
    ("words", "kernel"),
    [
        ("Using OAITritonExperts", "triton"),
        ("Using OAITritonMxfp4ExpertsMonolithic", "triton"),
        ("Using UnfusedOAITritonExperts", "triton"),
        ("Using BatchedOAITritonExperts", "triton"),
        ("Using TritonExperts", "triton"),
        ("Using BatchedTritonExperts", "triton"),
        ("Using TritonExperts Unquantized MoE backend", "triton"),
        ("Using MarlinExperts", "marlin"),
        ("Using BatchedMarlinExperts", "marlin"),
        ("Using MarlinExperts for MXFP4 MoE", "marlin"),
        ("Using MarlinExperts (weight-only FP4) for AutoRound MXFP4 MoE", "marlin"),
        ("Using Marlin backend", "marlin"),
        ("Using Triton backend", "triton"),
        ("[get_mxfp4_backend_with_lora] Using Marlin backend", "marlin"),
        ("[get_mxfp4_backend_with_lora] Using Triton backend", "triton"),
        ("Using Marlin backend for mxfp4 lora", "marlin"),
        ("Using Triton backend for mxfp4 lora", "triton"),
        ("Using FlashInfer MXFP4 BF16 backend for SM90", "flashinfer_cutlass"),
        ("Using FlashInfer MXFP4 BF16 backend for SM100, For faster performance on SM100, consider setting X", "flashinfer_trtllm"),
        ("Using FlashInfer MXFP4 MXFP8 CUTLASS backend for SM100", "flashinfer_cutlass"),
        ("Using FlashInfer MXFP4 MXFP8 TRTLLM backend for SM100, for high concurrency", "flashinfer_trtllm"),
        ("Using FlashInfer FP8 MoE CUTLASS backend for SM90/SM100", "flashinfer_cutlass"),
        ("Using FlashInfer FP8 MoE TRTLLM backend for SM100", "flashinfer_trtllm"),
        ("Using TRITON_MONOLITHIC Mxfp4 MoE backend out of potential backends: ['MARLIN', 'TRITON']", "triton"),
        ("Using 'MARLIN' Mxfp4 MoE backend.", "marlin"),
        ("Using 'TRITON' Mxfp4 MoE backend.", "triton"),
        ("Using 'HUMMING' Mxfp4 MoE backend.", "humming"),
        ("Using 'FLASHINFER_CUTLASS_MXFP4_BF16' Mxfp4 MoE backend.", "flashinfer_cutlass"),
        ("Using 'FLASHINFER_TRTLLM_MXFP4_MXFP8' Mxfp4 MoE backend.", "flashinfer_trtllm"),
        ("Using 'EMULATION' Mxfp4 MoE backend", "emulation"),
        ("Using 'B12X' Mxfp4 MoE backend.", "b12x"),
        ("Using 'AITER_TRITON_MXFP4_BF16' Mxfp4 MoE backend.", "aiter"),
        ("Using 'DEEPGEMM_MXFP4' Mxfp4 MoE backend.", "deep_gemm"),
        ("Using FLASHINFER_CUTLASS Fp8 MoE backend out of potential backends: ['AITER', 'TRITON', 'MARLIN'].", "flashinfer_cutlass"),
        ("Using DEEPGEMM Fp8 MoE backend out of potential backends: ['AITER', 'MARLIN'].", "deep_gemm"),
        ("Using 'VLLM_CUTLASS' NvFp4 MoE backend out of potential backends: ['MARLIN'].", "cutlass"),
        ("Using FlashInfer CUTLASS Unquantized MoE backend out of potential backends: ['TRITON'].", "flashinfer_cutlass"),
        ("Using ROCm AITER Unquantized MoE backend out of potential backends: ['TRITON'].", "aiter"),
        ("Using CPU Unquantized MoE backend out of potential backends: ['CPU'].", "cpu"),
        ("Using CPUUnquantizedExperts MoE backend", "cpu"),
        ("Using TRITON Unquantized MoE LoRA backend", "triton"),
        ("Using 'MARLIN' WNA16 MoE backend.", "marlin"),
        ("Using Marlin backend for WNA16 MoE (group_size=32, num_bits=4)", "marlin"),
        ("Using Marlin backend for FP8 MoE", "marlin"),
        ("Using DeepGEMM backend for FP8 MoE", "deep_gemm"),
        ("Using Cutlass BlockScaled GroupedGemm backend for FP8 MoE", "cutlass"),
        ("Using Triton backend for FP8 MoE", "triton"),
        ("Using DeepGemm kernels for Fp8MoEMethod.", "deep_gemm"),
        ("Using CutlassBlockScaledGroupedGemm kernels for Fp8MoEMethod.", "cutlass"),
        ("Using Cutlass for ModelOptNvFp4FusedMoE.", "cutlass"),
        ("Using CompressedTensorsWNA16MarlinMoEMethod", "marlin"),
        ("Using CK MXFP4 MoE backend (Aiter ROCm)", "aiter"),
        ("Using FlashInferExperts", "flashinfer_cutlass"),
        ("Using FlashInferCuteDSLExperts", "flashinfer_cutedsl"),
        ("Using TrtLlmGenExperts", "flashinfer_trtllm"),
        ("Using TrtLlmMxfp4ExpertsMonolithic", "flashinfer_trtllm"),
        ("Using CutlassExpertsMxfp4 for MXFP4 MoE", "cutlass"),
        ("Using CutlassExpertsFp8", "cutlass"),
        ("Using HummingIndexedExperts", "humming"),
        ("Using AiterW4A16ExpertsMonolithic", "aiter"),
        ("Falling back to Marlin FP4 MoE kernel.", "marlin"),
        ("Enabling FlashInfer CUTLASS MoE for UnquantizedFusedMoEMethod", "flashinfer_cutlass"),
        ("Enabling FlashInfer MXFP4 BF16 backend by default for Blackwell. For faster performance, consider X", "flashinfer_trtllm"),
        ("Using FlashInfer TensorRT-LLM kernels for ModelOptNvFp4FusedMoE.", "flashinfer_trtllm"),
        ("Using 'vLLM CUTASS' NvFp4 MoE backend out of potential backends: ['vLLM MARLIN'].", "cutlass"),
        ("Using 'FLASHINFER_CUTEDSL_BATCHED' NvFp4 MoE backend out of potential backends: ['MARLIN'].", "flashinfer_cutedsl"),
        ("Using xpu backend on XPU", "xpu"),
        ("Using ARK XPU WNA16 MoE kernel.", "xpu"),
        ("Using AITER_MXFP4_BF16 for Kimi-K3 SiTU MXFP4 MoE.", "aiter"),
        ("[zen_cpu] Using zentorch_fused_moe for W8A8 INT8 MoE", "cpu"),
        ("Using native CDNA4 (gfx950) MXFP8 dot_scaled MoE backend.", "triton"),
        ("Using 'NATIVE_MXFP8' MxFp8 MoE backend (user-requested).", "triton"),
        ("Using HUMMING W4A8 MoE backend.", "humming"),
        ("Using CPU_INT4 W4A8 Int8 MoE backend out of potential backends: ['CPU_INT4'].", "cpu"),
        ("Using TRITON backend for Quark MXFP8 (W8A8) MoE.", "triton"),
        ("Using MoonEPExperts", "mega_moe"),
        ("Using CompressedTensorsW4A16FlydslMoEMethod", "flydsl"),
        ("Using CompressedTensorsWNA16RDNA3MoEMethod (native RDNA3 HIP kernel)", "rdna3"),
        ("Using CompressedTensorsWNA16MarlinMoEMethod (emulation backend requested)", "emulation"),
        ("Using 'SOMETHING_NEW' Mxfp4 MoE backend.", "something_new"),
    ],
)  # fmt: skip
def test_words_of_a_kernel(words: str, kernel: str) -> None:
    assert value(vllm(PREFIX + words), "moe_kernel") == kernel
    assert value(vllm(words), "moe_kernel") == kernel


@pytest.mark.parametrize(
    "words",
    [
        "[cuda.py:482] Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'].",
        "[cuda.py:312] Using Triton backend on V1 engine.",
        "[cuda.py:400] Using Triton backend.",
        "[cuda.py:400] Using Triton MLA backend.",
        "[cuda.py:400] Using Flash Attention backend on V1 engine.",
        "[cuda.py:400] Using FlashInfer backend on V1 engine.",
        "[selector.py:202] Using HND KV cache layout for CPU_ATTN backend.",
        "[mxfp4.py:1718] Using MoEPrepareAndFinalizeNoDPEPMonolithic",
        "[gptq_marlin.py:377] Using MarlinLinearKernel for GPTQMarlinLinearMethod",
        "[fused_moe.py:1] Using configuration from /x/E=32,N=2880.json for MoE layer.",
        "[fused_moe.py:1] Using default MoE config. Performance might be sub-optimal!",
        "[topk_topp_sampler.py:39] FlashInfer top-p/top-k sampling disabled via VLLM_USE_FLASHINFER_SAMPLER=0.",
        "[deep_gemm.py:1] DeepGEMM backend requested but not available.",
        "[mxfp4.py:1] Mxfp4 MoE backend 'FLASHINFER_TRTLLM' does not support the deployment configuration",
        "[all2all.py:1] Using AgRsAll2AllManager all2all manager.",
        "[modelopt.py:1] Using flashinfer-cutlass for NVFP4 GEMM",
        "[flashinfer_all_reduce.py:1] Using flashinfer allreduce backend: trtllm",
        "[ssu_dispatch.py:1] Using triton Mamba SSU backend.",
        "[parallel.py:1] Using ray distributed inference because data_parallel_backend is ray",
        "[gdn_linear_attn.py:1] Using Triton/FLA GDN prefill kernel",
        "[compressed_tensors_moe.py:1] Using CompressedTensorsWNA16MoEMethod",
        "[flashinfer.py:1] Using TRTLLM decode attention (auto-detected).",
    ],
)
def test_words_that_are_no_moe_kernel(words: str) -> None:
    assert value(vllm(f"(EngineCore pid=1) INFO 08-30 12:00:00 {words}"), "moe_kernel") is None


@pytest.mark.parametrize(
    ("words", "backend"),
    [
        ("Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'].", "TRITON_ATTN"),
        ("Using FLASH_ATTN backend out of potential backends: ['FLASH_ATTN'].", "FLASH_ATTN"),
        ("Using FLASHMLA backend (selected via --attention-backend).", "FLASHMLA"),
        ("Using AttentionBackendEnum.TRITON_ATTN backend.", "TRITON_ATTN"),
        ("Using Flash Attention backend on V1 engine.", "FLASH_ATTN"),
        ("Using Flash Attention backend.", "FLASH_ATTN"),
        ("Using FlashInfer backend on V1 engine.", "FLASHINFER"),
        ("Using Flashinfer backend.", "FLASHINFER"),
        ("Using Triton backend on V1 engine.", "TRITON_ATTN"),
        ("Using Triton Attention backend on V1 engine.", "TRITON_ATTN"),
        ("Using Triton MLA backend.", "TRITON_MLA"),
        ("Using FlashMLA backend on V1 engine.", "FLASHMLA"),
        ("Using Cutlass MLA backend on V1 engine.", "CUTLASS_MLA"),
        ("Using XFormers backend.", "XFORMERS"),
        ("Using Torch SDPA backend.", "TORCH_SDPA"),
        ("Using ROCmFlashAttention backend.", "ROCM_ATTN"),
        ("Using FlexAttention backend.", "FLEX_ATTENTION"),
        ("Using BlocksparseFlashAttention backend.", "BLOCK_SPARSE_FLASH_ATTN"),
        ("Using DualChunkFlashAttention backend.", "DUAL_CHUNK_FLASH_ATTN"),
        ("Using FlashInfer MLA backend on V1 engine.", "FLASHINFER_MLA"),
        ("Using FlashAttention MLA backend on V1 engine.", "FLASH_ATTN_MLA"),
        ("Using Sparse MLA backend on V1 engine.", "FLASHMLA_SPARSE"),
        ("Using AITER MLA backend.", "ROCM_AITER_MLA"),
        ("Using AITER TRITON MLA backend.", "ROCM_AITER_TRITON_MLA"),
        ("Using Aiter Unified Attention backend on V1 engine.", "ROCM_AITER_UNIFIED_ATTN"),
        ("Using Aiter Flash Attention backend.", "ROCM_AITER_FA"),
        ("Using Rocm/Aiter Attention backend on V1 engine.", "ROCM_ATTN"),
        ("Using XPU MLA Sparse backend.", "XPU_MLA_SPARSE"),
        ("Using TurboQuant attention backend.", "TURBOQUANT"),
        ("Using Pallas V1 backend.", "PALLAS_VLLM_V1"),
        ("Using HPUAttention backend.", "HPU_ATTN"),
        ("Using CPU_ATTN backend.", "CPU_ATTN"),
        (
            "Using ROCM_AITER_MLA_SPARSE attention backend out of potential backends: ['ROCM_AITER_MLA_SPARSE'].",
            "ROCM_AITER_MLA_SPARSE",
        ),
    ],
)
def test_words_of_an_attention_backend(words: str, backend: str) -> None:
    assert value(vllm(f"INFO 08-30 12:00:00 [cuda.py:312] {words}"), "attention_backend") == backend


@pytest.mark.parametrize(
    "words",
    [
        "Using Flash Attention backend for ViT model.",
        "Using FLASH_ATTN MLA prefill backend.",
        "Using 'MARLIN' Mxfp4 MoE backend.",
    ],
)
def test_words_that_are_not_the_attention_backend(words: str) -> None:
    assert value(vllm(f"INFO 08-30 12:00:00 [x.py:1] {words}"), "attention_backend") is None


def test_the_class_that_was_bound_wins_and_the_other_claim_is_a_warning() -> None:
    facts = vllm(PREFIX + "Using 'TRITON' Mxfp4 MoE backend.", PREFIX + "Using MarlinExperts")

    assert value(facts, "moe_kernel") == "marlin"
    assert facts.proofs["moe_kernel"].evidence.line == 2
    assert any(warning.line == 1 and "TRITON" in warning.text for warning in facts.warnings)


def test_another_kernel_than_the_requested_one_is_a_warning() -> None:
    facts = vllm(
        "(APIServer pid=1) INFO 08-30 12:00:00 [utils.py:273] non-default args: {'model': 'm', 'moe_backend': 'triton'}",
        PREFIX + "Using MarlinExperts",
    )

    assert value(facts, "moe_kernel") == "marlin"
    assert any("triton was requested" in warning.text for warning in facts.warnings)


def test_the_requested_kernel_is_not_a_proof_of_the_bound_one() -> None:
    facts = vllm("(APIServer pid=1) INFO [utils.py:273] non-default args: {'model': 'm', 'moe_backend': 'triton'}")

    assert value(facts, "moe_kernel") is None
