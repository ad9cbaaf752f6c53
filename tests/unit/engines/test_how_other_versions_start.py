"""Starts of versions, models and machines that no capture has: every proof, by the words of their sources.

A start is one text: the lines that say something, in the shape that each version prints. Numbers are made up.
"""

from __future__ import annotations

import pytest

from benchgate.engines import get_engine
from tests.unit.engines.logs import sglang, value, vllm

VLLM_STARTS = {
    "0.5.4, Llama on one GPU": (
        """INFO 08-20 10:00:00 api_server.py:339] vLLM API server version 0.5.4
INFO 08-20 10:00:00 llm_engine.py:174] Initializing an LLM engine (v0.5.4) with config: model='meta/Llama-8B', speculative_config=None, dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, quantization=None, kv_cache_dtype=auto, served_model_name=meta/Llama-8B, use_v2_block_manager=False, enable_prefix_caching=False)
INFO 08-20 10:00:04 selector.py:54] Using Flashinfer backend.
INFO 08-20 10:00:10 model_runner.py:732] Loading model weights took 14.9888 GB
INFO 08-20 10:00:15 gpu_executor.py:102] # GPU blocks: 27898, # CPU blocks: 2048
INFO 08-20 10:00:40 model_runner.py:1225] Graph capturing finished in 21 secs.
INFO:     Application startup complete.""",
        {"engine_version": "0.5.4", "attention_backend": "FLASHINFER", "weights_gib": 14.9888, "kv_tokens": 446368, "kv_meaning": "blocks_x_block_size_16_by_default", "graph_capture_seconds": 21.0, "served_model": "meta/Llama-8B", "max_model_len": 8192, "moe_kernel": None, "ready": True},
    ),
    "0.7.3, DeepSeek with MLA over eight GPUs": (
        """INFO 03-01 10:00:00 api_server.py:912] vLLM API server version 0.7.3
INFO 03-01 10:00:00 api_server.py:913] args: Namespace(host=None, block_size=None, swap_space=4, tensor_parallel_size=8)
INFO 03-01 10:00:09 cuda.py:178] Using Triton MLA backend.
(VllmWorkerProcess pid=212) INFO 03-01 10:00:09 cuda.py:178] Using Triton MLA backend.
INFO 03-01 10:09:00 model_runner.py:1115] Loading model weights took 83.8840 GB
(VllmWorkerProcess pid=212) INFO 03-01 10:09:02 model_runner.py:1115] Loading model weights took 83.8842 GB
INFO 03-01 10:10:00 worker.py:267] model weights take 83.88GiB; non_torch_memory takes 8.00GiB; PyTorch activation peak memory takes 4.50GiB; the rest of the memory reserved for KV Cache is 30.45GiB.
INFO 03-01 10:10:10 executor_base.py:111] # cuda blocks: 29078, # CPU blocks: 3819
INFO 03-01 10:10:10 executor_base.py:116] Maximum concurrency for 32768 tokens per request: 14.20x
INFO 03-01 10:11:00 model_runner.py:1562] Graph capturing finished in 45 secs, took 0.39 GiB
INFO 03-01 10:11:00 llm_engine.py:436] init engine (profile, create kv cache, warmup model) took 118.20 seconds
INFO:     Application startup complete.""",
        {"engine_version": "0.7.3", "attention_backend": "TRITON_MLA", "weights_gib": 83.884, "kv_tokens": 465248, "kv_meaning": "blocks_x_block_size", "max_concurrency": 14.2, "memory_reserved_gib": 30.45, "graph_capture_seconds": 45.0, "init_seconds": 118.2, "tensor_parallel_size": 8},
    ),
    "0.8.5, Qwen MoE in the V1 engine": (
        """INFO 05-01 10:00:00 [api_server.py:1043] vLLM API server version 0.8.5
INFO 05-01 10:00:20 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='Qwen/Qwen3-30B-A3B-FP8', max_seq_len=40960, tensor_parallel_size=1, quantization=fp8, kv_cache_dtype=auto, served_model_name=Qwen/Qwen3-30B-A3B-FP8,
INFO 05-01 10:00:24 [cuda.py:221] Using Flash Attention backend on V1 engine.
INFO 05-01 10:00:30 [fp8.py:500] Using DeepGemm kernels for Fp8MoEMethod.
INFO 05-01 10:00:59 [loader.py:458] Loading weights took 6.52 seconds
INFO 05-01 10:01:00 [gpu_model_runner.py:1347] Model loading took 29.0377 GiB and 7.418271 seconds
INFO 05-01 10:01:30 [kv_cache_utils.py:634] GPU KV cache size: 465,728 tokens
INFO 05-01 10:01:30 [kv_cache_utils.py:637] Maximum concurrency for 40,960 tokens per request: 11.37x
INFO 05-01 10:02:00 [gpu_model_runner.py:1686] Graph capturing finished in 24 secs, took 0.61 GiB
INFO 05-01 10:02:01 [core.py:159] init engine (profile, create kv cache, warmup model) took 60.91 seconds
INFO:     Application startup complete.""",
        {"moe_kernel": "deep_gemm", "attention_backend": "FLASH_ATTN", "kv_tokens": 465728, "kv_meaning": "pool_tokens", "max_concurrency": 11.37, "load_seconds": 7.418271, "weights_gib": 29.0377, "quantization": "fp8"},
    ),
    "0.10.1, gpt-oss on a B200": (
        """(APIServer pid=1) INFO 08-20 10:00:00 [api_server.py:1805] vLLM API server version 0.10.1
(EngineCore_0 pid=130) INFO 08-20 10:00:24 [mxfp4.py:44] Enabling FlashInfer MXFP4 BF16 backend by default for Blackwell. For faster performance, consider setting VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8=1, though this may impact accuracy.
(EngineCore_0 pid=130) INFO 08-20 10:00:25 [cuda.py:290] Using FlashInfer backend with HND KV cache layout on V1 engine by default for Blackwell (SM 10.0) GPUs.
(EngineCore_0 pid=130) INFO 08-20 10:01:20 [gpu_worker.py:276] Available KV cache memory: 97.31 GiB""",
        {"moe_kernel": "flashinfer_trtllm", "attention_backend": "FLASHINFER", "memory_reserved_gib": 97.31, "engine_version": "0.10.1"},
    ),
    "0.14.1, an MI355 with sparse MLA": (
        """(EngineCore_DP0 pid=88) INFO 01-20 10:00:01 [rocm.py:209] Using Sparse MLA backend.
(EngineCore_DP0 pid=88) INFO 01-20 10:00:03 [nvfp4.py:100] Using 'vLLM CUTASS' NvFp4 MoE backend out of potential backends: ['vLLM MARLIN'].""",
        {"attention_backend": "ROCM_AITER_MLA_SPARSE", "moe_kernel": "cutlass"},
    ),
    "0.24, NVFP4 with a drafter whose MoE is not quantised": (
        """(Worker_TP0_EP0 pid=7) INFO 06-01 10:00:00 [nvfp4.py:301] Using 'FLASHINFER_TRTLLM' NvFp4 MoE backend out of potential backends: ['FLASHINFER_TRTLLM', 'FLASHINFER_CUTLASS', 'VLLM_CUTLASS', 'MARLIN'].
(Worker_TP0_EP0 pid=7) INFO 06-01 10:00:40 [nvfp4.py:580] Using MoEPrepareAndFinalizeNoDPEPModular
(Worker_TP0_EP0 pid=7) INFO 06-01 10:00:50 [gpu_model_runner.py:4200] Loading drafter model...
(Worker_TP0_EP0 pid=7) INFO 06-01 10:00:51 [unquantized.py:160] Using TRITON Unquantized MoE backend out of potential backends: ['FlashInfer TRTLLM', 'TRITON'].
(Worker_TP0_EP0 pid=7) INFO 06-01 10:01:00 [gpu_model_runner.py:4270] Model loading took 96.4 GiB memory and 61.200000 seconds
(Worker_TP0_EP0 pid=7) INFO 06-01 10:01:05 [gpu_worker.py:500] Available KV cache memory: 61.02 GiB""",
        {"moe_kernel": "flashinfer_trtllm", "draft_moe_kernel": "triton", "weights_gib": 96.4, "load_seconds": 61.2},
    ),
    "0.33, a pool in GPU and host": (
        """(EngineCore pid=9) INFO 11-20 10:00:00 [core.py:110] Initializing a V1 LLM engine (v0.33.0) with config: model='x'
(EngineCore pid=9) INFO 11-20 10:00:10 [startup_plan.py:153] Applying persisted startup plan (fingerprint ab12): kv_cache_memory_bytes=64424509440 (60.00 GiB), recorded free-memory baseline 139.00 GiB, current 139.20 GiB. Memory profiling will be skipped.
(EngineCore pid=9) INFO 11-20 10:00:12 [weight_utils.py:902] Prefetching checkpoint files into page cache started (in background, num_threads=8, block_size=16777216 bytes)
(EngineCore pid=9) INFO 11-20 10:00:30 [kv_cache_utils.py:1147] GPU + host KV cache size: 2,097,152 tokens, Maximum concurrency for 131,072 tokens per request: 16.00x
(EngineCore pid=9) INFO 11-20 10:00:50 [mm_encoder_model_runner.py:80] Encoder graph capturing finished in 900 secs, took 0.10 GiB (4 graphs)
(EngineCore pid=9) INFO 11-20 10:01:10 [core.py:320] init engine (profile, create kv cache, warmup model) took 40.10 s (compilation: 12.00 s \u2014 language_model: 11.00 s, encoder: 1.00 s)""",
        {"kv_tokens": 2097152, "kv_meaning": "max_concurrency_x_max_model_len", "max_concurrency": 16.0, "memory_reserved_gib": 60.0, "init_seconds": 40.1, "compile_seconds": 12.0, "graph_capture_seconds": None, "block_size": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), VLLM_STARTS.values(), ids=VLLM_STARTS)
def test_a_start_of_vllm(text: str, wanted: dict[str, object]) -> None:
    facts = vllm(*text.split("\n"))

    assert {name: value(facts, name) for name in wanted} == wanted
    assert facts.failure is None


SGLANG_STARTS = {
    "0.3.6, when only the free memory was said": (
        """[2024-11-20 10:00:00] server_args=ServerArgs(model_path='meta/Llama-8B', tp_size=1, dp_size=1, served_model_name='meta/Llama-8B', attention_backend='flashinfer')
[2024-11-20 10:00:10 TP0] Load weight begin. avail mem=78.84 GB
[2024-11-20 10:00:20 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.66 GB
[2024-11-20 10:00:22 TP0] Memory pool end. avail mem=8.34 GB
[2024-11-20 10:00:23 TP0] Capture cuda graph begin. This can take up to several minutes.
[2024-11-20 10:00:40 TP0] max_total_num_tokens=444500, max_prefill_tokens=16384, max_running_requests=2049, context_len=131072
[2024-11-20 10:00:50] The server is fired up and ready to roll!""",
        {"weights_gib": 15.18, "kv_tokens": 444500, "kv_meaning": "max_total_num_tokens", "attention_backend": "flashinfer", "max_model_len": 131072, "graph_capture_seconds": None, "ready": True},
    ),
    "0.4.6, DeepSeek over eight GPUs": (
        """[2025-05-01 10:00:00 TP0] MLA optimization is turned on. Use fa3 backend.
[2025-05-01 10:04:00 TP0] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=57.12 GB, mem usage=81.50 GB.
[2025-05-01 10:04:00 TP3] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=57.10 GB, mem usage=81.52 GB.
[2025-05-01 10:04:05 TP0] KV Cache is allocated. #tokens: 626880, KV size: 41.03 GB
[2025-05-01 10:04:05 TP3] KV Cache is allocated. #tokens: 626880, KV size: 41.03 GB
[2025-05-01 10:05:00 TP0] Capture cuda graph end. Time elapsed: 41.30 s. avail mem=13.20 GB. mem usage=2.44 GB.
[2025-05-01 10:05:02 TP0] max_total_num_tokens=626880, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=163840""",
        {"attention_backend": "fa3", "weights_gib": 81.5, "kv_tokens": 626880, "memory_reserved_gib": 41.03, "graph_capture_seconds": 41.3, "architecture": "DeepseekV3ForCausalLM"},
    ),
    "0.5.10, gpt-oss on Blackwell with a new driver": (
        """[2026-03-01 10:00:00] Detected GPT-OSS model on Blackwell with driver >= 595, using triton MOE kernel to avoid triton_kernels SIGSEGV.
[2026-03-01 10:00:00] Use trtllm_mha as attention backend for GptOssForCausalLM""",
        {"moe_kernel": "triton", "attention_backend": "trtllm_mha"},
    ),
    "0.5.23, whose start arguments are a mapping": (
        """[2026-11-20 10:00:00] server_args={'model_path': 'openai/gpt-oss-20b', 'api_key': 'sk-notforthelog', 'tp_size': 4, 'moe_dense_tp_size': None, 'dp_size': 2, 'served_model_name': 'openai/gpt-oss-20b', 'speculative_attention_mode': 'prefill', 'decode_attention_backend': None, 'attention_backend': 'fa3', 'speculative_algorithm': 'EAGLE3', 'speculative_moe_runner_backend': 'cutlass', 'moe_runner_backend': 'marlin'}
[2026-11-20 10:00:30 DP0 TP0] max_total_num_tokens=1000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=32, context_len=65536, available_gpu_mem=9.00 GB
[2026-11-20 10:00:30 DP1 TP0] max_total_num_tokens=1100, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=32, context_len=65536, available_gpu_mem=9.00 GB""",
        {"tensor_parallel_size": 4, "data_parallel_size": 2, "served_model": "openai/gpt-oss-20b", "attention_backend": "fa3", "moe_kernel": None, "moe_kernel_requested": "marlin", "speculative_method": "EAGLE3", "kv_tokens": 2100, "kv_ranks": 2},
    ),
    "0.5.23, graphs for prefill and decode, a pool that is sized after them, and a drafter": (
        """[2026-11-20 10:00:00] server_args=ServerArgs(model_path='x', tp_size=4, dp_size=1, attention_backend='fa3', moe_runner_backend='auto')
[2026-11-20 10:00:30 TP0] Load weight end. elapsed=28.10 s, type=Qwen3MoeForCausalLM, quant=fp8, avail mem=80.00 GB, mem usage=57.00 GB.
[2026-11-20 10:00:31 TP0] KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9000000, K size: 200.00 GB, V size: 200.00 GB
[2026-11-20 10:00:40 TP0] Capture target prefill CUDA graph end. elapsed=4.00 s, mem usage=0.50 GB, avail mem=70.00 GB.
[2026-11-20 10:00:50 TP0] Capture target decode CUDA graph end. bs=[1, 2, 4, 8], elapsed=6.50 s, mem usage=1.00 GB, avail mem=69.00 GB.
[2026-11-20 10:00:55 TP0] Capture draft decode CUDA graph end. elapsed=99.00 s, mem usage=9.00 GB, avail mem=60.00 GB.
[2026-11-20 10:00:56 TP0] Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 700000, KV size: 50.00 GB, avail mem=9.00 GB
[2026-11-20 10:00:56 TP0] Post-capture KV sizing: draft KV cache allocated. dtype: torch.bfloat16, #tokens: 690000, KV size: 2.00 GB
[2026-11-20 10:00:57 TP0] Initialized DFLASH draft runner. attention_backend=flashinfer, model=y, block_size=16
[2026-11-20 10:00:58] DeepEP v2 MoE: resolved --moe-runner-backend auto -> deep_gemm.""",
        {"load_seconds": 28.1, "weights_gib": 57.0, "graph_capture_seconds": 10.5, "kv_tokens": 700000, "kv_meaning": "allocated_pool_tokens", "memory_reserved_gib": 52.0, "attention_backend": "fa3", "moe_kernel": "deep_gemm"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), SGLANG_STARTS.values(), ids=SGLANG_STARTS)
def test_a_start_of_sglang(text: str, wanted: dict[str, object]) -> None:
    facts = sglang(*text.split("\n"))

    assert {name: value(facts, name) for name in wanted} == wanted
    assert facts.failure is None


def test_the_longest_line_of_start_arguments_is_read_to_its_end() -> None:
    many = ", ".join(f"'an_argument_of_many_{number}': None" for number in range(600))
    facts = sglang(f"[2026-11-20 10:00:00] server_args={{{many}, 'api_key': 'sk-notforthelog', 'tp_size': 8}}")

    assert value(facts, "tensor_parallel_size") == 8
    assert "notforthelog" not in facts.proofs["tensor_parallel_size"].evidence.text


def test_of_data_parallel_ranks_the_slowest_seconds_and_the_fullest_gpu_count() -> None:
    """A server is ready when its slowest rank is; a GPU is full when the fullest is; only pools add up."""
    ranks = {
        0: (20.0, 12.9, 60.0, 100.00, 1000),
        1: (35.5, 12.9, 58.0, 101.50, 1100),
        2: (21.0, 13.1, 90.0, 99.00, 1050),
    }
    lines = []
    for rank, (load, weights, init, memory, tokens) in ranks.items():
        here = f"(EngineCore_DP{rank} pid={rank + 50}) INFO 06-01 10:00:00 [x.py:1] "
        lines += [
            f"{here}Model loading took {weights} GiB memory and {load} seconds",
            f"{here}Available KV cache memory: {memory} GiB",
            f"{here}GPU KV cache size: {tokens} tokens",
            f"{here}init engine (profile, create kv cache, warmup model) took {init} seconds",
        ]

    facts = vllm(*lines)

    assert value(facts, "load_seconds") == 35.5
    assert value(facts, "init_seconds") == 90.0
    assert value(facts, "weights_gib") == 13.1
    assert value(facts, "memory_reserved_gib") == 101.5
    assert value(facts, "memory_reserved_meaning") == "largest_of_3_ranks"
    assert value(facts, "kv_tokens") == 3150
    slowest = facts.proofs["init_seconds"].evidence
    assert "EngineCore_DP2" in slowest.text
    assert slowest.line == 12


def test_the_memory_of_one_rank_is_one_gpus() -> None:
    facts = vllm("(EngineCore pid=1) INFO 06-01 10:00:00 [gpu_worker.py:1] Available KV cache memory: 10.5 GiB")

    assert value(facts, "memory_reserved_meaning") == "one_gpu"


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_log_without_memory_has_no_meaning_of_memory(engine: str) -> None:
    facts = get_engine(engine).parse_log(["INFO 06-01 10:00:00 [x.py:1] nothing"])

    assert "memory_reserved_meaning" not in facts.proofs
