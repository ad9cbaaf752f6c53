"""vLLM: command line, log, metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from benchgate.engines import arguments, failures, log_facts, prometheus
from benchgate.engines.api import api_proof, at, get_json
from benchgate.engines.arguments import UnknownArgument
from benchgate.engines.base import LogFacts, ServerCommand, ServerRequest
from benchgate.engines.log_reader import RawLine
from benchgate.engines.vllm_words import WORDS
from benchgate.errors import BenchgateError
from benchgate.records import Evidence, ExitInfo, Failure, Proof, ServerMetricsSnapshot
from benchgate.spec.campaign import ArgValue

SERVE = ["vllm", "serve"]
# A server starts without egress: what was not seeded fails at once, by name, instead of after a long retry.
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
_OURS = {
    "model": "the campaign's model",
    "model-tag": "the campaign's model",
    "host": "the host's kind",
    "port": "the placement's port",
}
_GIB = 2**30


class VllmEngine:
    """The adapter. Implements :class:`benchgate.engines.base.Engine`."""

    name = "vllm"
    health_path = "/health"
    # Plain --help names only groups since 0.11; before that, --help=all lists the flags with "all" in their names.
    help_variants: tuple[list[str], ...] = (["--help=all"], ["--help"])
    help_entrypoint: list[str] | None = SERVE
    help_lists = "--max-model-len"

    def command(self, request: ServerRequest) -> ServerCommand:
        """``vllm serve MODEL --host .. --port ..`` and the arm's arguments in the order in which they are written.

        The image's entrypoint is kept when it is one of vLLM's own; any other is replaced. ``false`` becomes
        ``--no-NAME``: leaving it out would silently keep a default that is often true (prefix caching).
        """
        arguments.refuse(request.args, _OURS)
        env = {**(OFFLINE if request.offline else {}), **_vocab(request), **request.env}
        arguments.refuse_vocab_urls(env)
        if request.gpu_count:
            arguments.check_gpus(gpus_needed(request.args), request.gpu_count, _split(request.args))
        entrypoint, argv = self._start(request)
        argv += ["--host", request.host, "--port", str(request.port), *_served_name(request)]
        for name, value in request.args.items():
            argv += arguments.words(name, value, false_as_no=True)
        return ServerCommand(argv=argv, env=env, entrypoint=entrypoint)

    def _start(self, request: ServerRequest) -> tuple[list[str] | None, list[str]]:
        image = request.image_entrypoint
        if not request.in_container:
            return None, [*SERVE, request.model_path]
        if image[-2:] == SERVE:
            return None, [request.model_path]
        if image[-1:] == ["vllm"]:
            return None, ["serve", request.model_path]
        if image and image[-1].endswith(("vllm.entrypoints.openai.api_server", "api_server.py")):
            return None, ["--model", request.model_path]  # images up to 0.6
        return SERVE, [request.model_path]

    def parse_log(self, lines: Iterable[RawLine]) -> LogFacts:
        """See :meth:`benchgate.engines.base.Engine.parse_log`."""
        return log_facts.parse(WORDS, lines)

    def api_proofs(self, get: Callable[[str], tuple[int, bytes]]) -> list[Proof]:
        """Version, served model and context as ``/version`` and ``/v1/models`` state them."""
        version, models = get_json(get, "/version"), get_json(get, "/v1/models")
        return [
            *api_proof("engine_version", at(version, "version"), "/version"),
            *api_proof("served_model", at(models, "data", 0, "id"), "/v1/models"),
            *api_proof("max_model_len", at(models, "data", 0, "max_model_len"), "/v1/models"),
        ]

    def failure(self, facts: LogFacts, exit_info: ExitInfo, *, timed_out: bool = False) -> Failure:
        """See :meth:`benchgate.engines.base.Engine.failure`."""
        return failures.failure_with_exit(facts.failure, exit_info, timed_out=timed_out)

    def parse_metrics(self, text: str, at: str) -> ServerMetricsSnapshot:
        """Read ``vllm:*``: counters and queues summed over engines, the KV use averaged. Old and new names."""
        page = prometheus.parse(text)
        queries = page.total("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
        hits = page.total("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")
        return ServerMetricsSnapshot(
            at=at,
            running=page.total("vllm:num_requests_running"),
            waiting=page.total("vllm:num_requests_waiting"),
            kv_use=page.mean("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
            prompt_tokens_total=page.total("vllm:prompt_tokens"),
            generation_tokens_total=page.total("vllm:generation_tokens"),
            prefix_cache_queries_total=queries,
            prefix_cache_hits_total=hits,
            preemptions_total=page.total("vllm:num_preemptions"),
        )

    def compile_events(self, lines: Iterable[RawLine]) -> list[Evidence]:
        """See :meth:`benchgate.engines.base.Engine.compile_events`."""
        return log_facts.compile_events(WORDS, lines)

    def unknown_arguments(self, args: Mapping[str, ArgValue], help_text: str) -> list[UnknownArgument]:
        """See :func:`benchgate.engines.arguments.unknown_arguments`."""
        return arguments.unknown_arguments(args, help_text, false_as_no=True, unlisted=["-O"])

    def pinned_host_memory_gib(self, args: Mapping[str, ArgValue], env: Mapping[str, str]) -> float:
        """Host memory that the server pins, in GiB; see :func:`pinned_host_memory_gib`."""
        return pinned_host_memory_gib(args, env)


def replicas(args: Mapping[str, ArgValue]) -> int:
    """Data-parallel replicas on this host."""
    return int(arguments.number_of(args, "data-parallel-size-local", "dpl", default=0)) or int(
        arguments.number_of(args, "data-parallel-size", "dp", default=1)
    )


def workers_of_a_replica(args: Mapping[str, ArgValue]) -> int:
    """GPUs of one replica: tensor x pipeline x prefill-context parallel. Decode-context parallel reuses them."""
    tensor = arguments.number_of(args, "tensor-parallel-size", "tp", default=1)
    pipeline = arguments.number_of(args, "pipeline-parallel-size", "pp", default=1)
    context = arguments.number_of(args, "prefill-context-parallel-size", "pcp", default=1)
    return int(tensor * pipeline * context)


def gpus_needed(args: Mapping[str, ArgValue]) -> int:
    """GPUs that an arm's parallel sizes multiply to."""
    return replicas(args) * workers_of_a_replica(args)


def _split(args: Mapping[str, ArgValue]) -> str:
    return f"{replicas(args)} replicas of {workers_of_a_replica(args)}"


def pinned_host_memory_gib(args: Mapping[str, ArgValue], env: Mapping[str, str]) -> float:
    """Host memory that an arm pins, in GiB: every data-parallel replica pins its own buffers.

    Counted: ``kv-offloading-size`` (GiB a replica, over all its workers), a ``kv-transfer-config`` with
    ``cpu_bytes_to_use`` (bytes a replica) or LMCache's ``max_local_cpu_size`` (GiB a worker; also as
    ``LMCACHE_MAX_LOCAL_CPU_SIZE``), and ``cpu-offload-gb`` and ``swap-space`` (GiB a worker). Not counted: buffers
    given in blocks, whose bytes depend on the model.

    Raises:
        BenchgateError: a size is not a number, or ``kv-transfer-config`` is not JSON.
    """
    workers = workers_of_a_replica(args)
    config = _transfer_config(args)
    found = config.get("kv_connector_extra_config")
    extra: dict[str, object] = found if isinstance(found, dict) else {}
    a_replica = arguments.number_of(args, "kv-offloading-size")
    if not a_replica:
        a_replica = _number(extra.get("cpu_bytes_to_use"), "kv-transfer-config.cpu_bytes_to_use") / _GIB
    a_worker = arguments.number_of(args, "cpu-offload-gb") + arguments.number_of(args, "swap-space")
    if "LMCache" in str(config.get("kv_connector", "")):
        size = extra.get("lmcache.max_local_cpu_size", env.get("LMCACHE_MAX_LOCAL_CPU_SIZE"))
        a_worker += _number(size, "LMCACHE_MAX_LOCAL_CPU_SIZE")
    return replicas(args) * (a_replica + workers * a_worker)


def _transfer_config(args: Mapping[str, ArgValue]) -> dict[str, object]:
    config: object = arguments.value_of(args, "kv-transfer-config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError:
            raise BenchgateError(f"args.kv-transfer-config is not JSON: {str(config)[:80]!r}") from None
    return config if isinstance(config, dict) else {}


def _number(value: object, where: str) -> float:
    try:
        return float(str(value)) if value is not None else 0.0
    except ValueError:
        raise BenchgateError(f"{where}: {value!r} is not a number") from None


def _vocab(request: ServerRequest) -> dict[str, str]:
    return {"TIKTOKEN_ENCODINGS_BASE": request.vocab_dir} if request.vocab_dir else {}


def _served_name(request: ServerRequest) -> list[str]:
    """``--served-model-name`` when the path would not answer to the campaign's model id.

    Raises:
        BenchgateError: the arm sets a name that the load generator will not ask for.
    """
    own = arguments.value_of(request.args, "served-model-name")
    if own is not None:
        if request.served_model_name not in (own if isinstance(own, list) else [own]):
            raise BenchgateError(
                f"args.served-model-name: {own!r} does not contain {request.served_model_name!r}",
                remedy="requests ask for the campaign's model id; add it to the list or leave the argument out",
            )
        return []
    return [] if request.served_model_name == request.model_path else ["--served-model-name", request.served_model_name]
