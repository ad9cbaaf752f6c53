"""What SGLang's log says, over its versions (0.3 to 0.5.23)."""

from __future__ import annotations

import re
from dataclasses import replace

from benchgate.engines.common_failures import COMMON
from benchgate.engines.failures import CERTAIN, Crash, FailureWords
from benchgate.engines.kernels import moe_kernel_or_name
from benchgate.engines.log_facts import Words, said
from benchgate.engines.proofs import Fact, Keep, Ranks, Sightings, as_float, as_text, first_number
from benchgate.records import Evidence
from benchgate.records import FailureKind as Kind

# How a KV pool's size was formed. Pools of different meanings are not comparable.
TOTAL = "max_total_num_tokens"  # what the scheduler may hand out
POOL = "allocated_pool_tokens"  # the pool's own line; a model with a sliding window has one pool for each kind of layer


def argument(name: str, value: str = r"'?(\w+)") -> str:
    """A start argument in the line that shows them all: ``NAME='x'`` up to 0.5.16, ``'NAME': 'x'`` later."""
    return rf"(?<!\w){name}(?:=|': ){value}"


def _kernel(match: re.Match[str]) -> str | None:
    name = match.group(1).strip()
    return None if name in ("auto", "None") else moe_kernel_or_name(re.sub(r"triton_kernels?", "triton", name))


def _sum(match: re.Match[str]) -> float:
    return sum(float(group) for group in match.groups() if group)


def _attention(match: re.Match[str]) -> str | None:
    name = match.group(1).strip("'\"., ")
    return None if name in ("None", "") else name


_BOUND, _CHOSEN, _ASKED = 30, 20, 10

_MOE = (
    # Detected SM120 and MXFP4 quantization format for GPT-OSS model, enabling Marlin MOE kernel.
    Fact("moe_kernel", "enabling ", r"enabling ([\w .-]{1,40}?) (?:MXFP4 )?M[oO]E kernel", _kernel, _BOUND, Keep.LAST),
    Fact("moe_kernel", "enabling ", r"enabling (FlashInfer MXFP4) M[oO]E kernel", lambda _: "flashinfer_mxfp4", _BOUND + 1, Keep.LAST),
    # .. on Blackwell with driver >= 595, using triton MOE kernel to avoid .. / .. does not support ..; using triton MoE runner.
    Fact("moe_kernel", "using ", r"[,;] using ((?!default)\w+) M[oO]E (?:kernel|runner\b)", _kernel, _BOUND, Keep.LAST),
    Fact("moe_kernel", "MoE runner=", r"MoE runner=(\w+)", _kernel, _BOUND, Keep.LAST),
    Fact("moe_kernel", "MxInt4MoE with", r"MxInt4MoE with (\w+) backend", _kernel, _BOUND, Keep.LAST),
    Fact("moe_kernel", "moe-runner-backend", r"moe-runner-backend (?:auto -> |to ')(\w+)", _kernel, _CHOSEN, Keep.LAST),
    Fact("moe_kernel", "auto set moe_runner_backend", r"auto set moe_runner_backend=`(\w+)`", _kernel, _CHOSEN, Keep.LAST),
    # Use flashinfer_trtllm as MoE runner backend on sm100 for DeepseekV3ForCausalLM
    Fact("moe_kernel", "oE runner backend", r"[Uu]s(?:e|ing) (\w+) as MoE runner backend", _kernel, _CHOSEN, Keep.LAST),
    # 0.5.17's MoE layer, once, when it is made: the backend that its quantisation method takes its kernels from
    Fact("moe_kernel", "MoE deferred finalize is", r"MoE deferred finalize is \w+ \(moe_runner_backend=(\w+), quant_method=\w+\)", _kernel, _CHOSEN, Keep.LAST),
    Fact("moe_kernel", "MOE_RUNNER_BACKEND is not initialized", r"(?<!SPECULATIVE_)MOE_RUNNER_BACKEND is not initialized, using (\w+) backend", _kernel, _ASKED, Keep.LAST),
    Fact("moe_kernel_requested", "server_args=", rf"server_args=.*?{argument('moe_runner_backend')}", as_text),
)  # fmt: skip

_ATTENTION = (
    Fact("attention_backend", "hybrid attention backend", r"hybrid attention backend for decode and prefill: decode_backend=(\w+)", _attention, _BOUND, Keep.LAST),
    Fact("attention_backend", "ttention backend not", r"[Aa]ttention backend not (?:explicitly )?(?:specified|set)\. Use (\w+) backend by default", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "attention backend", r"(?<!Multimodal )[Uu]s(?:e|ing) (\w+) as (?:the )?(?:default )?(?:prefill and decode )?attention backend", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "attention backend for", r"[Uu]s(?:e|ing) (\w+) attention backend for", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "MLA optimization is turned on", r"MLA optimization is turned on\. Use (\w+) backend", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "ttention backend not specified", r"ttention backend not specified\. Falling back to '(\w+)'", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "attention backend for", r"(?:Auto-select|Set) (\w+) attention backend for", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "ttention backend is ", r"ttention backend is (?:set|overridden) to '?(\w+)", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "--attention-backend", r"Overriding --attention-backend \S+ -> '(\w+)'", _attention, _CHOSEN, Keep.LAST),
    Fact("attention_backend", "AMX attention backend", r"Intel AMX attention backend is enabled", lambda _: "intel_amx", _CHOSEN, Keep.LAST),
    Fact("attention_backend", "Setting attention backend to", r"Setting attention backend to (\w+)", _attention, _BOUND, Keep.LAST),
    Fact("attention_backend", "attention_backend", rf"(?<!draft runner\. ){argument('attention_backend')}", _attention, _ASKED, Keep.LAST),
)  # fmt: skip

_POOL = (
    Fact("kv_tokens", "max_total_num_tokens=", r"\bmax_total_num_tokens=(\d+), ", first_number, 20, Keep.LAST, ranks=Ranks.SUM),
    Fact("kv_tokens", "KV Cache is allocated", r"KV Cache is allocated\..{0,60}#tokens: ([\d,]+)", first_number, 10, Keep.FIRST, ranks=Ranks.SUM),
    # from 0.5.23 a pool may get its size after the graphs are captured; a draft model's pool is another
    Fact("kv_tokens", "KV cache allocated", r"sizing: KV cache allocated\..{0,60}#tokens: ([\d,]+)", first_number, 11, Keep.FIRST, ranks=Ranks.SUM),
    Fact("kv_full_layer_tokens", "full_layer_tokens=", r"\bfull_layer_tokens=(\d+)", first_number, ranks=Ranks.SUM),
    Fact("kv_window_layer_tokens", "swa_layer_tokens=", r"\bswa_layer_tokens=(\d+)", first_number, ranks=Ranks.SUM),
    # SGLang's "GB" is 2**30 bytes
    Fact("memory_reserved_gib", "KV Cache is allocated", r"KV Cache is allocated\..{0,60}K size: ([\d.]+) GB, V size: ([\d.]+) GB", _sum, 10, Keep.SUM, Ranks.LARGEST),
    Fact("memory_reserved_gib", "KV Cache is allocated", r"KV Cache is allocated\..{0,60}KV size: ([\d.]+) GB", as_float, 10, Keep.SUM, Ranks.LARGEST),
    Fact("memory_reserved_gib", "KV cache allocated", r"sizing: (?:draft )?KV cache allocated\..{0,60}KV size: ([\d.]+) GB", as_float, 11, Keep.SUM, Ranks.LARGEST),
    Fact("max_running_requests", "max_running_requests=", r"\bmax_total_num_tokens=\d+, .{0,120}\bmax_running_requests=(\d+)", first_number),
    Fact("max_model_len", "context_len=", r"\bmax_total_num_tokens=\d+, .{0,160}\bcontext_len=(\d+)", first_number),
    Fact("memory_left_gib", "available_", r"\bmax_total_num_tokens=\d+, .{0,200}\bavailable_[gc]pu_mem=([\d.]+) GB", as_float, 0, Keep.SMALLEST),
)  # fmt: skip

_GRAPHS = r"Capture (?!draft|single-CG|UNO|Frozen)(?:[\w-]+ ){0,3}(?:cuda|cpu|npu|CUDA) graph end\."
_START = (
    Fact("engine_version", "ersion", r"(?:sglang|SGLang)(?: version|==|/| v)[ =:]?v?(\d+\.\d+\S*)|\bsglang_version[=:] ?'?(\d+\.[^\s',]+)", as_text),
    Fact("weights_gib", "Load weight end", r"Load weight end\..{0,300}mem usage=([\d.]+) ?GB", as_float, 10, Keep.FIRST, Ranks.LARGEST),
    Fact("_memory_before", "Load weight begin", r"Load weight begin\. avail mem=([\d.]+) ?GB", as_float),
    Fact("_memory_after", "Load weight end", r"Load weight end\..{0,300}\bavail mem=([\d.]+) ?GB", as_float),
    Fact("load_seconds", "Load weight end", r"Load weight end\. elapsed=([\d.]+) s", as_float, 10, Keep.LARGEST, Ranks.LARGEST),
    Fact("architecture", "Load weight end", r"Load weight end\..{0,60}?\btype=(\w+)", as_text),
    Fact("dtype", "Load weight end", r"Load weight end\..{0,160}\bdtype=(?:torch\.)?(\w+)", as_text),
    Fact("quantization", "Load weight end", r"Load weight end\..{0,160}\bquant(?:ization)?=(\w+)", as_text),
    Fact("kv_cache_dtype", "KV Cache is allocated", r"KV Cache is allocated\. dtype: (?:torch\.)?(\w+)", as_text),
    # one line for each kind of graph (prefill, decode) from 0.5.16 on: they add up; a draft model's graphs are another's
    Fact("graph_capture_seconds", "graph end", rf"{_GRAPHS} (?:Time elapsed: |elapsed=|bs=.{{0,800}}?, elapsed=)([\d.]+) s", as_float, 10, Keep.SUM, Ranks.LARGEST),
    Fact("graph_capture_gib", "graph end", rf"{_GRAPHS} .{{0,900}}?mem usage=([\d.]+) ?GB", as_float, 0, Keep.SUM, Ranks.LARGEST),
    Fact("served_model", "served_model_name", argument("served_model_name", r"'([^']+)'"), as_text),
    Fact("tensor_parallel_size", "tp_size", argument("tp_size", r"(\d+)"), first_number),
    Fact("data_parallel_size", "dp_size", argument("dp_size", r"(\d+)"), first_number),
    Fact("speculative_method", "speculative_algorithm", argument("speculative_algorithm", r"'(\w+)'"), as_text),
)  # fmt: skip

_KV = "raise mem-fraction-static, lower context-length, or use more GPUs"
_ARGS = "correct the arm's args; the message says which value this version or GPU does not take"
_FAILURES = (
    FailureWords(Kind.GPU_MEMORY_IN_USE, "memory capacity is unbalanced", r"ValueError: The memory capacity is unbalanced", "other processes hold memory of some of the GPUs",
                 "find out who holds it (nvidia-smi) and stop it", weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "Not enough memory", r"Not enough memory\. Please try to increase --mem-fraction-static", "no memory was left for a KV pool", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "Memory pool size is too small", r"Memory pool size is too small", "the KV pool cannot hold one request", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "leave no GPU memory", r"weights leave no GPU memory for the KV cache", "no memory was left for a KV pool", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "state cache", r"(?:Not enough GPU memory for|Hybrid) .{0,40}state cache", "the state cache cannot hold one request", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.KV_TOO_SMALL, "SWA pool", r"SWA pool .{0,60}(?:cannot hold even one request|leaves no room)", "the sliding window's pool does not fit beside the KV pool", _KV, weight=CERTAIN + 1),
    FailureWords(Kind.HOST_OOM, "Not enough host memory", r"Not enough host memory .{0,60}Requesting ([\d.]+) GB",
                 "the host has too little memory for the hierarchical cache ({0} GB)", "lower hicache-size or hicache-ratio", weight=CERTAIN + 1),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "Unsupported architectures", r"Unsupported architectures: (.{1,80}?)\. Supported", "this version of the engine does not know the model ({0})",
                 "use a checkpoint that this engine version can read, or another version", weight=CERTAIN + 1),
    FailureWords(Kind.BAD_FLAG, "must be divisible by", r"\b(\w+_size\b.{0,20} must be divisible by \w+)", "two sizes do not fit together ({0})", _ARGS),
    FailureWords(Kind.KV_TOO_SMALL, "max_total_num_tokens", r"max_total_(?:num_)?tokens.{0,40}(?:<=? ?0|is too small|must be (?:positive|greater))", "no memory was left for a KV pool", _KV),
    FailureWords(Kind.KV_TOO_SMALL, " out of memory. Try to lower your batch size", r"RuntimeError: (Prefill|Decode) out of memory\. Try to lower your batch size",
                 "the KV pool ran out while requests were served ({0})", _KV, while_serving=True),
    FailureWords(Kind.CUDA_OOM, "Capture cuda graph failed", r"Capture (?:\w+ )?graph failed: .{0,60}out of memory", "the GPU ran out of memory while graphs were captured",
                 "lower mem-fraction-static or cuda-graph-max-bs"),
    FailureWords(Kind.PORT_IN_USE, "is already in use", r"RuntimeError: .{0,60}port (\d+) is already in use", "port {0} is taken", "stop what listens there", denies_ready=True),
    FailureWords(Kind.BAD_FLAG, "is not a valid", r"ValueError: '(\S+)' is not a valid (\w+Backend)", "{0} is not a value that this version knows", _ARGS),
    FailureWords(Kind.BAD_FLAG, "requires one of", r"requires one of .{0,200} (?:attention|moe)\w* backend, but got '?(\w+)", "this model does not run with backend {0}", _ARGS),
)  # fmt: skip

_CRASH = Crash(
    pointers=("Received sigquit from a child process", "Initialization failed. Please see the error messages above", "Rank 0 scheduler is dead"),
    engine_died=(
        "Scheduler hit an exception", "Received sigquit from a child process", "Initialization failed. Please see the error messages above",
        "scheduler is dead", "Scheduler or DataParallelController", "terminated with",
    ),
    engine_process=r"Scheduler|TP\d|DP\d",
    stopping=("Shutting down", "Application shutdown complete", "SIGTERM received", "Gracefully exiting"),
)  # fmt: skip


def finish(seen: Sightings, warnings: list[Evidence]) -> None:
    """What several lines say together: the pool's meaning, missing ranks, another kernel than requested."""
    _pool(seen, warnings)
    seen.say_whose("memory_reserved_gib", "memory_reserved_meaning")
    _weights(seen)
    kernel, asked = seen.first("moe_kernel"), seen.first("moe_kernel_requested")
    if kernel and asked and asked.value != "auto" and kernel.precedence > _ASKED:
        wanted = moe_kernel_or_name(re.sub(r"triton_kernels?", "triton", str(asked.value)))
        if wanted != kernel.value:
            text = f"--moe-runner-backend {asked.value} was requested and the log shows {kernel.value}: {kernel.evidence.text}"
            warnings.append(Evidence(line=kernel.evidence.line, text=text))
    if asked and kernel is None and asked.value not in ("auto", "None"):
        text = f"--moe-runner-backend {asked.value} was asked for, and no line says which kernel was bound"
        warnings.append(Evidence(line=asked.evidence.line, text=text))


def _weights(seen: Sightings) -> None:
    """Up to 0.4.0 only the free memory before and after loading is said; the weights are what went away."""
    before, after = seen.first("_memory_before"), seen.first("_memory_after")
    if before and after and "weights_gib" not in seen.by_name:
        used = round(float(before.value) - float(after.value), 2)
        seen.by_name["weights_gib"] = {None: replace(after, value=used)}


def _pool(seen: Sightings, warnings: list[Evidence]) -> None:
    pool = seen.first("kv_tokens")
    if pool is None:
        return
    meaning = TOTAL if pool.precedence == 20 else POOL
    ranks, stated = seen.ranks("kv_tokens"), seen.first("data_parallel_size")
    expected = int(stated.value) if stated else 1
    if None not in ranks and len(ranks) < expected:
        meaning += f"_of_{len(ranks)}_of_{expected}_ranks"
        text = f"the KV pool of {len(ranks)} of {expected} data-parallel ranks is in the log; the sum covers only those"
        warnings.append(Evidence(line=pool.evidence.line, text=text))
    seen.by_name["kv_meaning"] = {None: replace(pool, value=meaning)}
    if len(ranks) > 1:
        seen.by_name["kv_ranks"] = {None: replace(pool, value=len(ranks))}


WORDS = Words(
    facts=(*_START, *_MOE, *_ATTENTION, *_POOL),
    failures=(*_FAILURES, *COMMON),
    crash=_CRASH,
    ready=(said("The server is fired up and ready to roll"),),
    warnings=(
        said("Performance might be sub-optimal"),
        said("Falling back to slow implementation"),
        said("KV cache pool is full"),
        said("Retract requests"),
    ),
    compiling=(
        said("DeepGEMM JIT", r"DeepGEMM JIT (?:Pre-)?[Cc]ompil"),
        said("JIT compilation during inference"),
        said("Entering DeepGEMM JIT"),
        said("torch._dynamo hit config.recompile_limit"),
        said("AUTOTUNE ", r"AUTOTUNE \w+\("),
        said("utotun", r"Autotuning (?:process|kernel|took)|\[Auto[Tt]uner\]: Tuning|Triton autotuning for function"),
    ),
    bulk=('HTTP/1.1" 200', "Decode batch", "Prefill batch"),
    finish=finish,
)
