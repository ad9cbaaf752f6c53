"""llama.cpp: its command line, and what its server says in log, API and metrics.

On a process host the server is :mod:`benchgate.engines.llamacpp_server`; in an image it is that file or llama.cpp's own
``llama-server``: both take llama.cpp's argument names, and both logs are read here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchgate.engines import failures, log_facts, prometheus
from benchgate.engines.api import api_proof, at, get_json
from benchgate.engines.arguments import UnknownArgument, unknown_arguments
from benchgate.engines.base import LogFacts, ServerCommand, ServerRequest
from benchgate.engines.failures import HINT, LIKELY, Crash, FailureWords
from benchgate.engines.log_facts import Words, said
from benchgate.engines.log_reader import RawLine
from benchgate.engines.proofs import Fact, as_text, first_number
from benchgate.errors import BenchgateError
from benchgate.records import Evidence, ExitInfo, Failure, FailureKind, Proof, ServerMetricsSnapshot
from benchgate.spec.campaign import ArgValue

SERVER = Path(__file__).with_name("llamacpp_server.py")
_OURS = {  # argument: who says it instead
    "model": "the campaign's model",
    "m": "the campaign's model",
    "alias": "the campaign's model id",
    "a": "the campaign's model id",
    "host": "the placement",
    "port": "the placement",
    "api-key": "LLAMA_API_KEY under secrets: an argument is visible to everybody on the host",
}

# Idle OpenMP threads sleep instead of spinning. On a CPU the load generator shares the cores with the server, and
# spinning threads starve it and each other: with two busy neighbours on two cores, chats went from 35 tok/s to 2.
_CPU_ENV = {"OMP_WAIT_POLICY": "passive"}


def _mib_to_gib(match: re.Match[str]) -> float | None:
    value = first_number(match)
    return None if value is None else value / 1024


def _is_true(match: re.Match[str]) -> bool:
    return match.group(1) in ("true", "1", "on")


FACTS = (
    Fact("engine_version", "xllamacpp ", r"llamacpp_server: xllamacpp (\S+),", as_text, precedence=1),
    Fact("engine_version", "build", r"\bbuild(?:_info)?: (?!0\b|b0-)(b?\d\S*)", as_text),
    Fact("model_sha256", "sha256 ", r"llamacpp_server: model .*: \d+ bytes, sha256 ([0-9a-f]{64})", as_text),
    Fact("model_path", "loading model '", r"load_model: loading model '(.*)'", as_text),
    Fact("context_tokens", "n_ctx_slot", r"n_slots = \d+, n_ctx_slot = (\d+)", precedence=1),
    Fact("context_tokens", "new slot", r"new slot,? n_ctx(?:_slot)? = (\d+)"),
    Fact("slots", "n_slots", r"n_slots = (\d+)"),
    Fact("kv_tokens", "n_ctx ", r"llama_context: n_ctx +=\s*(\d+)"),
    Fact("kv_cache_gib", "KV buffer size", r"KV buffer size =\s*([\d.]+) MiB", _mib_to_gib),
    Fact("kv_cache_gib", "llama_kv_cache", r"llama_kv_cache\w*:.* size =\s*([\d.]+) MiB", _mib_to_gib, precedence=1),
    Fact("kv_type_k", "K (", r"K \((\w+)\):", as_text),
    Fact("kv_type_v", "V (", r"V \((\w+)\):", as_text),
    Fact("kv_unified", "kv_unified", r"kv_unified = '?(true|false)", _is_true),
    Fact("weights_gib", "file size", r"print_info: file size\s*=\s*([\d.]+) MiB", _mib_to_gib),
    Fact("weights_gib", "file size", r"print_info: file size\s*=\s*([\d.]+) GiB"),
    Fact("weights_type", "file type", r"print_info: file type\s*=\s*(\S+)", as_text),
    Fact("threads", "n_threads", r"system_info: n_threads = (\d+)"),
    Fact("threads_batch", "n_threads_batch", r"n_threads_batch = (\d+)"),
    Fact("batch_tokens", "n_batch ", r"llama_context: n_batch +=\s*(\d+)"),
    Fact("ubatch_tokens", "n_ubatch ", r"llama_context: n_ubatch +=\s*(\d+)"),
    Fact(
        "flash_attention", "Flash Attention ", r"Flash Attention (?:was |is )?(enabled|disabled)", as_text, precedence=1
    ),
    Fact("flash_attention", "flash_attn", r"llama_context: flash_attn +=\s*(enabled|disabled)", as_text),
    Fact("cache_prompt", "cache_prompt = ", r"llamacpp_server: cache_prompt = (on|off)", _is_true),
)

FAILURES = (
    FailureWords(
        FailureKind.BAD_FLAG,
        "error: ",
        r"error: (unrecognized arguments: .+|argument .+|the following arguments are required.+|invalid argument: .+)",
        "the server does not accept its arguments ({0})",
        "correct the arm's args; names are llama.cpp's own",
        denies_ready=True,
    ),
    FailureWords(
        FailureKind.PORT_IN_USE,
        "bind",
        r"(cannot bind \S+: Address already in use|couldn't bind HTTP server socket, hostname: .+)",
        "the port is taken ({0})",
        "end who listens there, or give the placement another port",
        denies_ready=True,
    ),
    FailureWords(
        FailureKind.SEED_FAILED,
        "model",
        r"(cannot read the model .+|failed to open GGUF file .+)",
        "the model file cannot be read ({0})",
        "run the seed step again",
    ),
    FailureWords(
        FailureKind.CHECKPOINT_MISMATCH,
        "model",
        r"error loading model: (.+)",
        "llama.cpp cannot load this model ({0})",
        "is the file whole, and does this version know its architecture?",
        weight=LIKELY,
    ),
    FailureWords(
        FailureKind.CUDA_OOM,
        "out of memory",
        r"(CUDA error: out of memory|cudaMalloc failed: out of memory)",
        "the GPU ran out of memory ({0})",
        "use a smaller ctx-size or fewer n-gpu-layers",
        while_serving=True,
    ),
    FailureWords(
        FailureKind.KV_TOO_SMALL,
        "kv cache",
        r"failed to allocate buffer for kv cache",
        "there is no memory for the KV cache",
        "use a smaller ctx-size or a smaller cache type",
    ),
    FailureWords(
        FailureKind.HOST_OOM,
        "insufficient memory",
        r"insufficient memory \((attempted to allocate [\d.]+ MB)\)",
        "the host has too little memory ({0})",
        "use a smaller model or ctx-size, or free memory",
        weight=LIKELY,
    ),
    FailureWords(
        FailureKind.UNKNOWN,
        "llamacpp_server: error: ",
        r"llamacpp_server: error: llama\.cpp did not start",
        "llama.cpp did not start",
        "read the lines above it",
        weight=HINT,
        denies_ready=True,
    ),
)

WORDS = Words(
    facts=FACTS,
    failures=FAILURES,
    crash=Crash(),
    ready=(said("llamacpp_server: ready on "), said("server is listening on "), said("listening on http")),
    warnings=(
        said("prompt cache is enabled"),
        said("truncated = 1"),
        said("context shift"),
        said("failed to find free space in the KV cache"),
    ),
)


class LlamacppEngine:
    """The adapter. Implements :class:`benchgate.engines.base.Engine`."""

    name = "llamacpp"
    health_path = "/health"
    help_variants: tuple[list[str], ...] = (["--help"],)
    help_entrypoint: list[str] | None = None
    help_lists = "--ctx-size"

    def command(self, request: ServerRequest) -> ServerCommand:
        """See :meth:`benchgate.engines.base.Engine.command`."""
        for name in request.args:
            if (plain := name.lstrip("-").replace("_", "-")) in _OURS:
                raise BenchgateError(
                    f"args.{name}: this is not an arm's to set", remedy=f"it comes from {_OURS[plain]}"
                )
        argv = [
            *("--model", request.model_path, "--alias", request.served_model_name),
            *("--host", request.host, "--port", str(request.port)),
        ]
        for name, value in request.args.items():
            argv += _flag(name, value)
        env = {} if request.gpu_count else dict(_CPU_ENV)
        env |= ({"LLAMA_OFFLINE": "1"} if request.offline else {}) | request.env
        if request.in_container:
            return ServerCommand(argv=argv, env=env)
        return ServerCommand(argv=[sys.executable, str(SERVER), *argv], env=env)

    def parse_log(self, lines: Iterable[RawLine]) -> LogFacts:
        """See :meth:`benchgate.engines.base.Engine.parse_log`."""
        return log_facts.parse(WORDS, lines)

    def api_proofs(self, get: Callable[[str], tuple[int, bytes]]) -> list[Proof]:
        """Model, context and slots as ``/v1/models`` and ``/props`` state them."""
        proofs = []
        models = get_json(get, "/v1/models")
        first = at(models, "data", 0)
        for name, value in (
            ("served_model", at(first, "id")),
            ("trained_context_tokens", at(first, "meta", "n_ctx_train")),
            ("model_parameters", at(first, "meta", "n_params")),
        ):
            proofs += api_proof(name, value, "/v1/models")
        props = get_json(get, "/props")
        for name, value in (
            ("context_tokens", at(props, "default_generation_settings", "n_ctx")),
            ("slots", at(props, "total_slots")),
            ("weights_type", at(props, "model_ftype")),
        ):
            proofs += api_proof(name, value, "/props")
        return proofs

    def failure(self, facts: LogFacts, exit_info: ExitInfo, *, timed_out: bool = False) -> Failure:
        """See :meth:`benchgate.engines.base.Engine.failure`."""
        return failures.failure_with_exit(facts.failure, exit_info, timed_out=timed_out)

    def parse_metrics(self, text: str, at: str) -> ServerMetricsSnapshot:
        """Read ``llamacpp:*``. A prompt token counts whether it was computed or came from the prompt cache."""
        page = prometheus.parse(text)
        computed = page.total("llamacpp:prompt_tokens")
        cached = page.total("llamacpp:prompt_tokens_cached")
        prompt = None if computed is None else computed + (cached or 0)
        return ServerMetricsSnapshot(
            at=at,
            running=page.total("llamacpp:requests_processing"),
            waiting=page.total("llamacpp:requests_deferred"),
            kv_use=page.mean("llamacpp:kv_cache_usage_ratio"),
            prompt_tokens_total=prompt,
            generation_tokens_total=page.total("llamacpp:tokens_predicted"),
            prefix_cache_queries_total=None if cached is None else prompt,
            prefix_cache_hits_total=cached,
        )

    def compile_events(self, lines: Iterable[RawLine]) -> list[Evidence]:
        """llama.cpp compiles no kernels while it serves on a CPU: always empty."""
        return log_facts.compile_events(WORDS, lines)

    def unknown_arguments(self, args: Mapping[str, ArgValue], help_text: str) -> list[UnknownArgument]:
        """See :func:`benchgate.engines.arguments.unknown_arguments`."""
        return unknown_arguments(args, help_text, false_as_no=True)

    def pinned_host_memory_gib(self, args: Mapping[str, ArgValue], env: Mapping[str, str]) -> float:  # noqa: ARG002
        """Nothing: weights are mapped from the file, and the KV cache is ordinary memory."""
        return 0.0


def _flag(name: str, value: ArgValue) -> list[str]:
    """One argument as llama.cpp spells it: ``true`` is ``--name``, ``false`` is ``--no-name``, a list repeats it."""
    flag = name if name.startswith("-") else f"--{name.replace('_', '-')}"
    if value is None:
        return []
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag.lstrip('-')}"]
    if isinstance(value, list):
        return [part for item in value for part in (flag, str(item))]
    if isinstance(value, dict):
        return [flag, json.dumps(value)]
    return [flag, str(value)]
