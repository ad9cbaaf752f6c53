"""SGLang: command line, log, metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from benchgate.engines import arguments, failures, log_facts, prometheus
from benchgate.engines.api import api_proof, at, get_json
from benchgate.engines.arguments import UnknownArgument
from benchgate.engines.base import LogFacts, ServerCommand, ServerRequest
from benchgate.engines.log_reader import RawLine
from benchgate.engines.sglang_words import WORDS
from benchgate.records import Evidence, ExitInfo, Failure, Proof, ServerMetricsSnapshot
from benchgate.spec.campaign import ArgValue

SERVE = ["python3", "-m", "sglang.launch_server"]
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}
_OURS = {
    "model-path": "the campaign's model",
    "model": "the campaign's model",
    "host": "the host's kind",
    "port": "the placement's port",
    "served-model-name": "the campaign's model id",
}


class SglangEngine:
    """The adapter. Implements :class:`benchgate.engines.base.Engine`."""

    name = "sglang"
    health_path = "/health"
    help_variants: tuple[list[str], ...] = (["--help"],)
    help_entrypoint: list[str] | None = SERVE
    help_lists = "--context-length"

    def command(self, request: ServerRequest) -> ServerCommand:
        """``python3 -m sglang.launch_server --model-path .. --host .. --port ..`` and the arm's arguments in order.

        SGLang's switches only switch on, so ``false`` is left out. Its images come without an entrypoint for the
        server (or with a wrapper), so the module is started by name. ``/metrics`` is off unless asked for: it is.
        """
        arguments.refuse(request.args, _OURS)
        vocab = {"TIKTOKEN_ENCODINGS_BASE": request.vocab_dir} if request.vocab_dir else {}
        env = {**(OFFLINE if request.offline else {}), **vocab, **request.env}
        arguments.refuse_vocab_urls(env)
        if request.gpu_count:
            arguments.check_gpus(gpus_needed(request.args), request.gpu_count, _split(request.args))
        argv = ["--model-path", request.model_path, "--host", request.host, "--port", str(request.port)]
        if request.served_model_name != request.model_path:
            argv += ["--served-model-name", request.served_model_name]
        for name, value in request.args.items():
            argv += arguments.words(name, value, false_as_no=False)
        if arguments.value_of(request.args, "enable-metrics") is None:
            argv.append("--enable-metrics")
        if request.in_container and request.image_entrypoint[-1:] == ["sglang.launch_server"]:
            return ServerCommand(argv=argv, env=env)
        if request.in_container:
            return ServerCommand(argv=argv, env=env, entrypoint=SERVE)
        return ServerCommand(argv=[*SERVE, *argv], env=env)

    def parse_log(self, lines: Iterable[RawLine]) -> LogFacts:
        """See :meth:`benchgate.engines.base.Engine.parse_log`."""
        return log_facts.parse(WORDS, lines)

    def api_proofs(self, get: Callable[[str], tuple[int, bytes]]) -> list[Proof]:
        """Version, model, kernel and pool as ``/get_server_info`` (``/server_info`` in newer versions) states them."""
        path = "/get_server_info"
        info = get_json(get, path)
        if info is None:
            path = "/server_info"
            info = get_json(get, path)
        return [
            *api_proof("engine_version", at(info, "version"), path),
            *api_proof("served_model", at(info, "served_model_name"), path),
            *api_proof("attention_backend", at(info, "attention_backend"), path),
            *api_proof("kv_tokens", at(info, "max_total_num_tokens"), path),
        ]

    def failure(self, facts: LogFacts, exit_info: ExitInfo, *, timed_out: bool = False) -> Failure:
        """See :meth:`benchgate.engines.base.Engine.failure`."""
        return failures.failure_with_exit(facts.failure, exit_info, timed_out=timed_out)

    def parse_metrics(self, text: str, at: str) -> ServerMetricsSnapshot:
        """Read ``sglang:*``: counters and queues summed over ranks, the KV use averaged."""
        page = prometheus.parse(text)
        prompt = page.total("sglang:prompt_tokens")
        cached = page.total("sglang:cached_tokens")
        return ServerMetricsSnapshot(
            at=at,
            running=page.total("sglang:num_running_reqs"),
            waiting=page.total("sglang:num_queue_reqs"),
            kv_use=page.mean("sglang:token_usage"),
            prompt_tokens_total=prompt,
            generation_tokens_total=page.total("sglang:generation_tokens"),
            prefix_cache_queries_total=None if cached is None else prompt,
            prefix_cache_hits_total=cached,
            preemptions_total=page.total("sglang:num_retracted_requests_total", "sglang:num_retracted_reqs_total"),
        )

    def compile_events(self, lines: Iterable[RawLine]) -> list[Evidence]:
        """See :meth:`benchgate.engines.base.Engine.compile_events`."""
        return log_facts.compile_events(WORDS, lines)

    def unknown_arguments(self, args: Mapping[str, ArgValue], help_text: str) -> list[UnknownArgument]:
        """See :func:`benchgate.engines.arguments.unknown_arguments`. Underscores are not taken for dashes here."""
        return arguments.unknown_arguments(args, help_text, false_as_no=False, underscores=False)

    def pinned_host_memory_gib(self, args: Mapping[str, ArgValue], env: Mapping[str, str]) -> float:  # noqa: ARG002
        """Host memory that the server pins, in GiB.

        ``hicache-size`` is in GB for each rank; ``cpu-offload-gb`` for each worker. A ``hicache-ratio`` depends on the
        pool that the GPU ends up with and is not counted.
        """
        a_rank = arguments.number_of(args, "hicache-size") * 1e9 / 2**30
        return gpus_needed(args) * (a_rank + arguments.number_of(args, "cpu-offload-gb"))


def gpus_needed(args: Mapping[str, ArgValue]) -> int:
    """GPUs that an arm's parallel sizes multiply to. With DP attention the replicas share the tensor-parallel GPUs."""
    tensor = arguments.number_of(args, "tensor-parallel-size", "tp-size", "tp", default=1)
    pipeline = arguments.number_of(args, "pipeline-parallel-size", "pp-size", "pp", default=1)
    data = arguments.number_of(args, "data-parallel-size", "dp-size", "dp", default=1)
    if arguments.value_of(args, "enable-dp-attention"):
        data = 1
    return int(tensor * pipeline * data)


def _split(args: Mapping[str, ArgValue]) -> str:
    return (
        "tensor x pipeline x data parallel" if not arguments.value_of(args, "enable-dp-attention") else "DP attention"
    )
