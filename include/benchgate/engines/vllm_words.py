"""What vLLM's log says, over its versions (0.6 to 0.33), and what several of its lines say together."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.engines.common_failures import COMMON
from benchgate.engines.failures import CERTAIN, LIKELY, Crash, FailureWords
from benchgate.engines.kernels import attention_backend, moe_kernel, moe_kernel_or_name
from benchgate.engines.log_facts import Words, said
from benchgate.engines.proofs import Fact, Keep, Ranks, Sighting, Sightings, as_float, as_text, first_number
from benchgate.records import Evidence
from benchgate.records import FailureKind as Kind

# How a KV pool's size was formed. Pools of different meanings are not comparable.
BLOCKS = "blocks_x_block_size"  # up to 0.7: blocks are logged, and multiplied here
POOL = "pool_tokens"  # 0.8 to 0.20: blocks / KV groups x block size; off for models with hybrid attention
CONCURRENCY = "max_concurrency_x_max_model_len"  # from 0.21: what the pool holds at full length
DEFAULT_BLOCK_SIZE = 16  # of the versions that log blocks, on CUDA


def _kernel(match: re.Match[str]) -> str | None:
    return moe_kernel(match.group(1))


def _backend(match: re.Match[str]) -> str | None:
    return moe_kernel_or_name(match.group(1))


def _whole(match: re.Match[str]) -> str | None:
    return moe_kernel(match.group(0))


def _attention(match: re.Match[str]) -> str:
    name = attention_backend(match.group(1))
    # CUDA and ROCm said the same words for two backends; the file in front of them tells which
    return "ROCM_AITER_MLA_SPARSE" if name == "FLASHMLA_SPARSE" and "rocm.py" in match.string else name


_BOUND, _CHOSEN, _PHRASE = 30, 20, 10

_MOE = (
    # The class that was bound in the end. Logged by every version that has kernel classes.
    Fact("moe_kernel", "Experts", r"\bUsing '?(\w*Experts\w*)", _kernel, _BOUND, Keep.FIRST),
    Fact("moe_kernel", "MoEMethod", r"\bUsing (\w*(?:Marlin|Flydsl|RDNA3)\w*MoEMethod)\b(?! \(emulation)", _kernel, _CHOSEN, Keep.LAST),
    Fact("moe_kernel", "emulation backend requested", r"\bUsing \w*MoEMethod \((emulation) backend requested\)", _kernel, _CHOSEN, Keep.LAST),
    # The backend that was chosen: Using 'MARLIN' Mxfp4 MoE backend. / Using TRITON_MONOLITHIC Mxfp4 MoE backend out of
    Fact("moe_kernel", "MoE", r"\bUsing '?([A-Za-z][\w ./()-]{0,60}?)'?(?: (?:W4A8 )?\w+(?:-\w+)?)? M[oO]E (?:LoRA )?backend",
         _backend, _CHOSEN, Keep.LAST),
    # Using Marlin backend for WNA16 MoE (group_size=32, num_bits=4) / Using DeepGEMM backend for FP8 MoE
    Fact("moe_kernel", "MoE", r"\bUsing '?([\w ]{1,40}?)'? backend for (?:[\w()-]{1,30} ){0,4}MoE", _backend, _CHOSEN, Keep.LAST),
    # Using DeepGemm kernels for Fp8MoEMethod. / Using Cutlass for ModelOptNvFp4FusedMoE.
    Fact("moe_kernel", "MoE", r"\bUsing ((?!configuration|default)[\w -]{1,40}?)(?: kernels?)? for \w*(?:MoEMethod|FusedMoE)\b",
         _kernel, _CHOSEN, Keep.LAST),
    # Using FlashInfer MXFP4 BF16 backend for SM90 / Using FlashInfer FP8 MoE CUTLASS backend for SM90/SM100
    Fact("moe_kernel", "Using FlashInfer ", r"\bUsing FlashInfer (?:MXFP4|FP8 MoE|NVFP4)\b.{0,60}? backend for SM\d+", _whole, _CHOSEN, Keep.LAST),
    # 0.10 to 0.18, without a word about MoE. Attention lines of those versions end in a full stop or name V1.
    Fact("moe_kernel", "backend", r"\bUsing (?:ipex )?([Mm]arlin) backend(?: on XPU| for mxfp4 lora)?\s*$", _kernel, _PHRASE, Keep.LAST),
    Fact("moe_kernel", "backend", r"(?<!cuda)(?<!rocm)(?<!xpu)(?<!selector)(?<!attn)(?:\.py:\d+\] |^|[^\]] )(?:\[get_mxfp4_backend_with_lora\] )?\bUsing (Triton) backend(?: for mxfp4 lora)?\s*$",
         _kernel, _PHRASE, Keep.LAST),
    # Using AITER_MXFP4_BF16 for Kimi-K3 SiTU MXFP4 MoE. / Using zentorch_fused_moe for W8A8 INT8 MoE / Using ARK XPU WNA16 MoE kernel.
    Fact("moe_kernel", "MoE", r"\bUsing ([\w-]{1,60}) for (?:[\w()-]{1,30} ){1,4}MoE\b", _kernel, _CHOSEN, Keep.LAST),
    Fact("moe_kernel", "MoE kernel", r"\bUsing ([\w ]{1,40}?)(?: \w+)? MoE kernel", _kernel, _CHOSEN, Keep.LAST),
    # Enabling FlashInfer CUTLASS MoE for UnquantizedFusedMoEMethod (0.11 to 0.14)
    Fact("moe_kernel", "Enabling FlashInfer ", r"\bEnabling (FlashInfer (?:CUTLASS|TRTLLM)) MoE for", _kernel, _CHOSEN, Keep.LAST),
    # Enabling FlashInfer MXFP4 BF16 backend by default for Blackwell (0.10.1, where that is TensorRT-LLM's)
    Fact("moe_kernel", "Enabling FlashInfer MXFP4", r"\bEnabling FlashInfer MXFP4 BF16 backend by default for Blackwell", lambda _: "flashinfer_trtllm", _PHRASE, Keep.LAST),
    Fact("moe_kernel", "Using xpu backend", r"\bUsing (xpu) backend on XPU", _kernel, _PHRASE, Keep.LAST),
    Fact("moe_kernel", "Falling back to Marlin", r"Falling back to (Marlin) \w+ MoE kernel", _kernel, _CHOSEN, Keep.LAST),
    Fact("moe_kernel_requested", "moe_backend", r"""['"]moe_backend['"]: ['"](\w+)""", as_text),
)  # fmt: skip

_ATTENTION = (
    Fact("attention_backend", "attention backend out of", r"Using (\w+) attention backend out of potential", _attention, _BOUND),
    Fact("attention_backend", "via --attention-backend", r"Using ([\w.]+) backend \(selected via --attention-backend", _attention, _BOUND),
    Fact("attention_backend", "backend out of potential", r"Using ([A-Z][A-Z0-9_]+) backend out of potential", _attention, _CHOSEN),
    Fact("attention_backend", "Using AttentionBackendEnum", r"Using (AttentionBackendEnum\.\w+) backend", _attention, _CHOSEN),
    Fact("attention_backend", " backend", r"Using ((?:Flash|Triton|Tree|Aiter|AITER|Rocm|ROCm|Sparse|Cutlass|CUTLASS|FLASH|TRITON|CPU|AMX|Blocksparse|DualChunk|Differential|HPU|IPEX|OpenVINO|Dual|XPU|Turbo)[\w/ ]{0,40}?(?:[Aa]ttention|Flash|MLA|MLA Sparse|ATTN\w*|MLA\w*|Quant attention)|Flash ?[Ii]nfer(?: MLA)?|Flash(?:MLA|Attention)(?: MLA)?|FlexAttention|X[Ff]ormers|Torch SDPA|Pallas(?: V1)?|ROCmFlashAttention) backend(?! for (?:ViT|vit))",
         _attention, _PHRASE),
    Fact("attention_backend", "Using Triton backend", r"Using (Triton) backend(?:\.| on V1 engine)", _attention, _PHRASE),
    Fact("attention_backend", "KV cache layout for", r"KV cache layout for (\w+) backend", _attention, 1),
)  # fmt: skip

_POOL = (
    # "CPU" instead of "GPU" on a CPU, from 0.31 on; "GPU + host" with a pool in both
    Fact("kv_tokens", "KV cache size", r"\b[A-Z]{2,4}(?: \+ \w+)? KV cache size: ([\d,]+) tokens", first_number, 10, Keep.SMALLEST, ranks=Ranks.SUM),
    Fact("_one_line", "tokens, Maximum concurrency", r"KV cache size: [\d,]+ tokens, Maximum concurrency", lambda _: True),
    Fact("_blocks", "blocks: ", r"# (?!CPU)\w+ blocks: (\d+)", first_number, 0, Keep.SMALLEST, ranks=Ranks.SUM),
    Fact("max_concurrency", "Maximum concurrency for", r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x", as_float, 0, Keep.SMALLEST, ranks=Ranks.SUM),
    Fact("max_concurrency_tokens", "Maximum concurrency for", r"Maximum concurrency for ([\d,]+) tokens per request", first_number),
    # as the start arguments have it (Namespace(.., block_size=16, ..) or {'block_size': 16}): kernels log theirs as well
    Fact("block_size", "block_size", r"""(?:['"]block_size['"]: |[(,] ?block_size=)(\d+)(?=[,)}])""", first_number, 10),
    Fact("block_size", "kv cache block size to", r"kv cache block size to (\d+) for", first_number, 20, Keep.LAST),
    Fact("memory_reserved_gib", "vailable KV cache memory", r"Available KV cache memory: ([\d.]+) GiB", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_reserved_gib", "reserved for KV Cache", r"memory reserved for KV Cache is ([\d.]+) ?GiB", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_reserved_gib", "kv_cache_size=", r"kv_cache_size=([\d.]+) ?GiB", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_reserved_gib", "memory for KV Cache", r"[Rr]eserved ([\d.]+) ?GiB memory for KV Cache", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_reserved_gib", "GiB for KV cache on node", r"\(([\d.]+)/[\d.]+\) GiB for KV cache on node", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_reserved_gib", "persisted startup plan", r"startup plan \(.{0,120}\): kv_cache_memory_bytes=\d+ \(([\d.]+) GiB\)", as_float, 10, Keep.SMALLEST, Ranks.LARGEST),
    Fact("memory_budget_gib", "Desired GPU memory utilization", r"Desired GPU memory utilization is \([\d.]+, ([\d.]+) GiB\)", as_float),
    Fact("memory_budget_gib", "the current vLLM instance can use", r"gpu_memory_utilization \([\d.]+\) = ([\d.]+) ?GiB", as_float),
)  # fmt: skip

_START = (
    Fact("engine_version", "version", r"(?:█|▀|API server) +version v?(\d+\.\d+\S*)", as_text, 20),
    Fact("engine_version", "LLM engine (v", r"LLM engine \(v(\d+\.[^)\s]+)\)", as_text, 10),
    # "GB" up to 0.7 is a wrong word for GiB: the number was divided by 2**30 there as well
    Fact("weights_gib", "odel loading took", r"Model loading took ([\d.]+) ?Gi?B", as_float, 20, Keep.FIRST, Ranks.LARGEST),
    Fact("weights_gib", "oading model weights took", r"Loading model weights took ([\d.]+) ?Gi?B", as_float, 10, Keep.FIRST, Ranks.LARGEST),
    Fact("load_seconds", "odel loading took", r"Model loading took [\d.]+ ?Gi?B(?: memory)? and ([\d.]+) s", as_float, 20, Keep.LARGEST, Ranks.LARGEST),
    Fact("load_seconds", "oading weights took", r"Loading weights took ([\d.]+) s", as_float, 10, Keep.LARGEST, Ranks.LARGEST),
    Fact("weights_read_seconds", "oading weights took", r"Loading weights took ([\d.]+) s", as_float, 10, Keep.LARGEST, Ranks.LARGEST),
    Fact("graph_capture_seconds", "Graph capturing finished", r"Graph capturing finished in ([\d.]+) s", as_float, 0, Keep.LARGEST, Ranks.LARGEST),
    Fact("graph_capture_gib", "Graph capturing finished", r"Graph capturing finished in [\d.]+ s\w*, took (-?[\d.]+) GiB", as_float, 0, Keep.FIRST, Ranks.LARGEST),
    Fact("init_seconds", "init engine (", r"init engine \([^)]*\) took ([\d.]+) s", as_float, 0, Keep.LARGEST, Ranks.LARGEST),
    Fact("compile_seconds", "compilation: ", r"\(compilation: ([\d.]+) s", as_float, 20, Keep.LARGEST, Ranks.LARGEST),
    Fact("compile_seconds", "torch.compile took", r"torch\.compile took ([\d.]+) s", as_float, 10, Keep.LARGEST, Ranks.LARGEST),
    Fact("compile_seconds", "torch.compile takes", r"torch\.compile takes ([\d.]+) s", as_float, 10, Keep.LARGEST, Ranks.LARGEST),
    Fact("max_model_len", "max model len", r"Using max model len (\d+)", first_number, 20),
    Fact("max_model_len", "max_seq_len=", r"\bmax_seq_len=(\d+)", first_number, 10),
    Fact("architecture", "Resolved architecture", r"Resolved architecture: (\w+)", as_text),
    Fact("dtype", "dtype=torch.", r"\bdtype=torch\.(\w+)", as_text),
    Fact("quantization", "quantization=", r"\bquantization=(?!None)(\w+)", as_text),
    Fact("kv_cache_dtype", "kv_cache_dtype=", r"\bkv_cache_dtype=(\w+)", as_text),
    Fact("tensor_parallel_size", "tensor_parallel_size", r"""\btensor_parallel_size['"]?[=:] ?(\d+)""", first_number),
    Fact("data_parallel_size", "data_parallel_size", r"""\bdata_parallel_size['"]?[=:] ?(\d+)""", first_number, 0, Keep.LARGEST),
    Fact("served_model", "served_model_name=", r"\bserved_model_name=([^,\s)]+)", as_text),
    Fact("speculative_method", "SpeculativeConfig", r"SpeculativeConfig\(method='?(\w+)", as_text),
)  # fmt: skip

_ARGS = "correct the arm's args; the message says which value this version or GPU does not take"
_KV = "lower max-model-len, raise gpu-memory-utilization, or use more GPUs"
_FREE = "find out who holds the GPU memory (nvidia-smi) and stop it, or lower gpu-memory-utilization"
_FAILURES = (
    FailureWords(Kind.GPU_MEMORY_IN_USE, "Free memory on device", r"Free memory on device(?: \S+)? ?\(([\d.]+)/([\d.]+) GiB\) on startup is less than",
                 "only {0} of {1} GiB of GPU memory were free at start", _FREE, weight=CERTAIN + 1),
    FailureWords(Kind.GPU_MEMORY_IN_USE, "Error in memory profiling", r"Error in memory profiling\. Initial free memory",
                 "another process changed the GPU's free memory while vLLM measured it", _FREE, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "To serve at least one request", r"To serve at least one request with the model'?s'?s? max seq len \((\d+)\)",
                 "the KV pool cannot hold one request of {0} tokens", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "max seq len", r"max seq len \((\d+)\) is larger than the maximum number of tokens that can be stored in KV cache",
                 "the KV pool cannot hold one request of {0} tokens", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "No available memory for the cache blocks", r"No available memory for the cache blocks",
                 "no memory was left for a KV pool", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.HOST_OOM, "desired CPU memory utilization", r"Available memory on node .{0,60} on startup is less than desired CPU memory utilization",
                 "the host has less free memory than the CPU backend asks for", "lower gpu-memory-utilization (it counts for the CPU as well) or VLLM_CPU_KVCACHE_SPACE", weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "Cannot auto-fit max_model_len", r"Cannot auto-fit max_model_len",
                 "no memory was left for a KV pool", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "exceeds available Mamba cache blocks", r"max_num_seqs \(\d+\) exceeds available Mamba cache blocks",
                 "the state cache cannot hold max-num-seqs requests", "lower max-num-seqs", weight=CERTAIN + 1),
    FailureWords(Kind.BAD_FLAG, "does not support the", r"MoE backend '?(\S+?)'? does not support the deployment",
                 "the MoE kernel that was asked for does not run here ({0})", _ARGS),
    FailureWords(Kind.BAD_FLAG, "MoE backend supports the", r"No (\w+) MoE backend supports the deployment", "no MoE kernel runs this model here", _ARGS),
    FailureWords(None, "No valid attention backend", r"No valid attention backend found for (\w+)",
                 "no attention kernel runs this model on this GPU ({0})", "the line names each one's reason; use another version, GPU or kv-cache-dtype"),
    FailureWords(Kind.BAD_FLAG, "Selected backend", r"Selected backend (\S+) is not valid for this configuration", "the attention backend that was asked for does not run here ({0})", _ARGS),
    FailureWords(Kind.BAD_FLAG, "validation error", r"validation errors? for (\w*Config|\w*Args)\b", "vLLM refused a setting of its {0}", _ARGS, weight=LIKELY),
    FailureWords(Kind.BAD_FLAG, "invalid tool call parser", r"invalid tool call parser: (\S+)", "unknown tool parser {0}", _ARGS),
    FailureWords(Kind.BAD_FLAG, "invalid reasoning parser", r"invalid reasoning parser: (\S+)", "unknown reasoning parser {0}", _ARGS),
    FailureWords(Kind.BAD_FLAG, "environment variable detected", r"ValueError: Unknown vLLM environment variable detected: (\w+)",
                 "this version does not know the environment variable {0}", "rename or remove it"),
    FailureWords(Kind.BAD_FLAG, "larger than the number of available GPUs", r"[Ww]orld size \((\d+)\) is larger than the number of available GPUs \((\d+)\)",
                 "the arm needs {0} GPUs and the server sees {1}", "correct the parallel sizes or the placement's GPUs"),
    FailureWords(Kind.FRONTEND_CRASH, "panicked at", r"thread '?[^']*'? ?(?:\(\d+\) )?panicked at (.+)",
                 "the Rust front end crashed ({0})", "set VLLM_USE_RUST_FRONTEND=0 for this model", weight=LIKELY),
    FailureWords(Kind.FRONTEND_CRASH, "failed to initialize", r"failed to initialize ((?:request output|\w+) parser(?: `[^`]*`)?)",
                 "the Rust front end cannot make the {0}", "set VLLM_USE_RUST_FRONTEND=0 for this model", weight=LIKELY),
    FailureWords(Kind.FRONTEND_CRASH, "Process RustFrontend", r"Process RustFrontend \(PID: \d+\) died with exit code (-?\d+)",
                 "the Rust front end ended with exit code {0}", "read the lines above it, or set VLLM_USE_RUST_FRONTEND=0 for this model", weight=LIKELY, while_serving=True),
    FailureWords(Kind.FRONTEND_CRASH, "Failed frontend proc", r"Failed frontend proc\(s\): (.+)",
                 "the server's front process died ({0})", "set VLLM_USE_RUST_FRONTEND=0 for this model", weight=1),
)  # fmt: skip

_CRASH = Crash(
    pointers=(
        "Engine core initialization failed", "See root cause above", "See stack trace for", "stack trace above for the root cause",
        "WorkerProc initialization failed", "Engine process failed to start", "failed to be inspected", "EngineDeadError", "Executor failed", "Worker failed with error", "EngineCore encountered an issue",
    ),
    engine_died=(
        "Engine core initialization failed", "EngineCore failed to start", "EngineCore encountered a fatal error", "EngineDeadError",
        "died unexpectedly", "Engine process failed to start", "WorkerProc failed to start", "WorkerProc hit an exception", "WorkerProc initialization failed",
    ),
    engine_process=r"EngineCore|Worker|Engine_|APIServer_Engine|DPCoordinator",
    stopping=("Shutting down", "[shutdown]", "Application shutdown complete", "SIGTERM", "KeyboardInterrupt"),
)  # fmt: skip


def _version(text: object) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", str(text))
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def kv_meaning(
    version: str | None, tokens: float, concurrency: float | None, length: float | None, *, one_line: bool
) -> str:
    """How vLLM formed a pool's size in tokens, from its version and the form of the line.

    The size became ``max_concurrency x max_model_len`` in 0.21 (two lines) and moved into one line by 0.29. When the
    numbers of a version that should multiply contradict each other, the older meaning is kept.
    """
    if one_line:
        return CONCURRENCY
    if version is None or _version(version) < (0, 20):
        return POOL
    if concurrency is None or length is None:
        return CONCURRENCY if _version(version) >= (0, 21) else POOL
    agrees = abs(tokens - concurrency * length) <= 0.006 * length + 1
    return CONCURRENCY if agrees else POOL


def finish(seen: Sightings, warnings: list[Evidence]) -> None:
    """What several lines say together: the KV pool and its meaning, missing ranks, another kernel than requested."""
    _pool(seen, warnings)
    seen.say_whose("memory_reserved_gib", "memory_reserved_meaning")
    kernel, requested = seen.first("moe_kernel"), seen.first("moe_kernel_requested")
    if kernel and requested and str(requested.value) != "auto":
        asked = moe_kernel_or_name(str(requested.value))
        if asked != kernel.value:
            text = f"--moe-backend {requested.value} was requested and the log shows {kernel.value}: {kernel.evidence.text}"
            warnings.append(Evidence(line=kernel.evidence.line, text=text))
    for other in seen.rivals("moe_kernel"):
        warnings.append(
            Evidence(line=other.evidence.line, text=f"another MoE kernel is named as well: {other.evidence.text}")
        )


def _pool(seen: Sightings, warnings: list[Evidence]) -> None:
    concurrency, length = seen.first("max_concurrency"), seen.first("max_concurrency_tokens")
    conc = float(concurrency.value) if concurrency else None
    size = float(length.value) if length else None
    if "kv_tokens" not in seen.by_name and "_blocks" in seen.by_name:
        block_size, known = _block_size(seen, conc, size)
        meaning = BLOCKS if known else f"{BLOCKS}_{DEFAULT_BLOCK_SIZE}_by_default"
        seen.over_ranks["kv_tokens"] = Ranks.SUM
        seen.by_name["kv_tokens"] = {
            rank: replace(sighting, value=int(sighting.value) * block_size)
            for rank, sighting in seen.by_name["_blocks"].items()
        }
    elif pool := seen.first("kv_tokens"):
        version = seen.first("engine_version")
        meaning = kv_meaning(
            str(version.value) if version else None, float(pool.value), conc, size, one_line="_one_line" in seen.by_name
        )
    else:
        return
    ranks = seen.ranks("kv_tokens")
    stated = seen.first("data_parallel_size")
    expected = int(stated.value) if stated else 1
    first = min(ranks.values(), key=lambda sighting: sighting.order)
    if 1 <= len(ranks) < expected:
        meaning += f"_of_{len(ranks)}_of_{expected}_ranks"
        text = f"the KV pool of {len(ranks)} of {expected} data-parallel ranks is in the log; the sum covers only those"
        warnings.append(Evidence(line=first.evidence.line, text=text))
    seen.by_name["kv_meaning"] = {None: Sighting(meaning, first.evidence, 0, first.order)}
    if len(ranks) > 1:
        seen.by_name["kv_ranks"] = {None: Sighting(len(ranks), first.evidence, 0, first.order)}


def _block_size(seen: Sightings, conc: float | None, length: float | None) -> tuple[int, bool]:
    """Tokens in a block: as logged, else from the concurrency line, else the default of those versions."""
    stated = seen.first("block_size")
    if stated is not None:
        return int(stated.value), True
    blocks = seen.first("_blocks")
    if blocks and conc and length and float(blocks.value) > 0:
        size = conc * length / float(blocks.value)
        near = min((1, 8, 16, 32, 64, 128, 256), key=lambda candidate: abs(candidate - size))
        if abs(near - size) / near < 0.05:
            return near, True
    return DEFAULT_BLOCK_SIZE, False


WORDS = Words(
    facts=(*_START, *_MOE, *_ATTENTION, *_POOL),
    failures=(*_FAILURES, *COMMON),
    crash=_CRASH,
    ready=(said("Application startup complete"),),
    warnings=(
        said("Unknown vLLM environment variable"),
        said("Weight-only FP", r"Weight-only FP\d compression"),
        said("Performance might be sub-optimal"),
        said("Invalid or unknown", r"Invalid or unknown .{0,200}(?:ignored|ignoring)"),
        said("is preempted by"),
    ),
    compiling=(
        said("JIT compilation during inference"),
        said("torch._dynamo hit config.recompile_limit"),
        said("Recompiling function", r"Recompiling function \S+"),
        said("utotun", r"Autotuning (?:process|kernel|took)|\[Auto[Tt]uner\]: Tuning|Triton autotuning for function"),
        said("AUTOTUNE ", r"AUTOTUNE \w+\("),
        said("DeepGEMM JIT", r"DeepGEMM JIT Compiling"),
    ),
    bulk=('HTTP/1.1" 200', "Avg prompt throughput"),
    draft_begins=(said("Loading drafter model"),),
    draft_ends=(said("Model loading took"),),
    draft_names={"moe_kernel": "draft_moe_kernel", "attention_backend": "draft_attention_backend"},
    finish=finish,
)
