"""One name for a MoE kernel, whatever an engine and its version call it.

The names are those of vLLM's ``--moe-backend``, since campaigns write them in ``prove``: ``triton``, ``marlin``,
``flashinfer_cutlass``, ``flashinfer_trtllm``, ``deep_gemm``, ``cutlass``, ``humming``, ``aiter``, ``cpu`` ...
Variants of one kernel (batched, monolithic, unfused, one a number format) share its name.
"""

from __future__ import annotations

import re

# First match wins, so the telling part of a compound name comes first:
# AITER_TRITON_MXFP4_BF16 is aiter, SM90_FI_MXFP4_BF16 is FlashInfer, FlashInferB12xExperts is not CUTLASS.
_NAMES: tuple[tuple[str, str], ...] = (
    (r"emulation|simulation", "emulation"),
    (r"humming", "humming"),
    (r"flydsl", "flydsl"),
    (r"marlin", "marlin"),
    (r"aiter|\bck\b", "aiter"),
    (r"moe.?ep|moonep|megamoe|mega_moe", "mega_moe"),
    (r"flashinfer.*trt.?llm|flashinfer.*tensorrt|(?<![a-z])trt.?llm|tensorrt", "flashinfer_trtllm"),
    (r"cute.?dsl", "flashinfer_cutedsl"),
    (r"flashinfer.*b12x", "flashinfer_b12x"),
    (r"b12x", "b12x"),
    (r"flashinfer.*cutlass|sm90_fi_|fi_.*cutlass", "flashinfer_cutlass"),
    (r"flashinfer.*mxfp4.*bf16.*sm100|sm100_fi_mxfp4_bf16", "flashinfer_trtllm"),
    (r"flashinfer.*mxfp4.*bf16.*sm90", "flashinfer_cutlass"),
    (r"flashinfer_?mxfp4|flashinfer mxfp4", "flashinfer_mxfp4"),
    (r"flashinferexperts", "flashinfer_cutlass"),  # the class of vLLM's flashinfer_cutlass_moe
    (r"flashinfer", "flashinfer"),
    (r"deep.?gemm", "deep_gemm"),
    (r"cutl?ass", "cutlass"),  # 0.14 prints "vLLM CUTASS"
    (r"triton|native.*mxfp8|dot_scaled", "triton"),
    (r"xpu|ipex", "xpu"),
    (r"zen(?:torch|_?cpu)|cpu|amx", "cpu"),
    (r"rdna3", "rdna3"),
    (r"^hpc", "hpc"),
    (r"^tpu|pallas", "tpu"),
    (r"naive|torch.?native", "torch"),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), name) for pattern, name in _NAMES)
# Words of the same lines that are no kernel: parts of the MoE layer that every kernel has.
_NO_KERNEL = re.compile(r"PrepareAndFinalize|MixtureOfExperts|SharedExperts|RoutedExperts|LinearKernel", re.IGNORECASE)


def moe_kernel(words: str) -> str | None:
    """The kernel that ``words`` (a backend name, a class name, a phrase) mean; None when they mean none we know."""
    if _NO_KERNEL.search(words):
        return None
    return next((name for pattern, name in _COMPILED if pattern.search(words)), None)


def moe_kernel_or_name(words: str) -> str | None:
    """As :func:`moe_kernel`, but a backend that is new to us keeps its own name in lower case."""
    if _NO_KERNEL.search(words):
        return None
    return moe_kernel(words) or re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_") or None


_ATTENTION: tuple[tuple[str, str], ...] = (
    (r"flash ?attention mla|flashattn[ _]?mla", "FLASH_ATTN_MLA"),
    (r"flashinfer ?mla", "FLASHINFER_MLA"),
    (r"cutlass[ _]mla", "CUTLASS_MLA"),
    (r"flash ?mla ?sparse|sparse mla", "FLASHMLA_SPARSE"),
    (r"flash ?mla", "FLASHMLA"),
    (r"aiter triton mla", "ROCM_AITER_TRITON_MLA"),
    (r"aiter mla", "ROCM_AITER_MLA"),
    (r"triton mla", "TRITON_MLA"),
    (r"aiter unified", "ROCM_AITER_UNIFIED_ATTN"),
    (r"aiter flash", "ROCM_AITER_FA"),
    (r"rocm/aiter", "ROCM_ATTN"),
    (r"xpu mla sparse", "XPU_MLA_SPARSE"),
    (r"turboquant", "TURBOQUANT"),
    (r"dual ?chunk", "DUAL_CHUNK_FLASH_ATTN"),
    (r"differential", "DIFFERENTIAL_FLASH_ATTN"),
    (r"block ?sparse", "BLOCK_SPARSE_FLASH_ATTN"),
    (r"openvino", "OPENVINO"),
    (r"ipex", "IPEX"),
    (r"hpu ?attention", "HPU_ATTN"),
    (r"pallas v1", "PALLAS_VLLM_V1"),
    (r"rocm ?(?:flash ?)?attention", "ROCM_ATTN"),
    (r"flash ?infer", "FLASHINFER"),
    (r"flex ?attention", "FLEX_ATTENTION"),
    (r"flash ?attention(?:-?2)?$|flash attn", "FLASH_ATTN"),
    (r"tree attention", "TREE_ATTN"),
    (r"triton(?: attention)?$", "TRITON_ATTN"),
    (r"xformers", "XFORMERS"),
    (r"torch sdpa", "TORCH_SDPA"),
    (r"pallas", "PALLAS"),
)


def attention_backend(words: str) -> str:
    """vLLM's own upper-case name of an attention backend, for older versions' phrases (``Flash Attention``) too."""
    plain = words.strip().removeprefix("AttentionBackendEnum.")
    if re.fullmatch(r"[A-Z0-9_]+", plain):
        return plain
    for pattern, name in _ATTENTION:
        if re.search(pattern, plain, re.IGNORECASE):
            return name
    return re.sub(r"[^A-Z0-9]+", "_", plain.upper()).strip("_")
