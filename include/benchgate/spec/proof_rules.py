"""The facts that each engine's log and API can prove, by name: what an arm may write under ``prove``.

The engines' own words say how each is read; a test holds the two lists together.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from benchgate.spec.rules import Complaint, as_map


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BOTH = _names(
    "architecture attention_backend data_parallel_size dtype engine_version graph_capture_gib graph_capture_seconds "
    "kv_cache_dtype kv_meaning kv_ranks kv_tokens load_seconds max_model_len memory_reserved_gib "
    "memory_reserved_meaning moe_kernel moe_kernel_requested quantization ready served_model speculative_method "
    "tensor_parallel_size weights_gib"
)
PROOFS: Mapping[str, frozenset[str]] = {
    "vllm": _BOTH
    | _names(
        "block_size compile_seconds draft_attention_backend draft_moe_kernel init_seconds max_concurrency "
        "max_concurrency_tokens memory_budget_gib weights_read_seconds"
    ),
    "sglang": _BOTH | _names("kv_full_layer_tokens kv_window_layer_tokens max_running_requests memory_left_gib"),
    "llamacpp": _names(
        "batch_tokens cache_prompt context_tokens engine_version flash_attention kv_cache_gib kv_tokens kv_type_k "
        "kv_type_v kv_unified model_parameters model_path model_sha256 ready served_model slots threads threads_batch "
        "trained_context_tokens ubatch_tokens weights_gib weights_type"
    ),
}


def proof_complaints(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    """A proof that no line of the arm's engine can give: its arm could never be published."""
    for name, arm in as_map(campaign.get("arms")).items():
        engine = as_map(arm).get("engine") or campaign.get("engine")
        known = PROOFS.get(str(engine))
        for proof in as_map(as_map(arm).get("prove")) if known else ():
            if known and proof not in known:
                close = difflib.get_close_matches(proof, sorted(known), n=1, cutoff=0.7)
                hint = f"; did you mean {close[0]}?" if close else "."
                yield Complaint(
                    ("arms", name, "prove", proof), f"unknown proof{hint} {engine} proves: {', '.join(sorted(known))}"
                )
