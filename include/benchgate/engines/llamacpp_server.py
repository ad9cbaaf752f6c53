"""llama.cpp's own HTTP server over xllamacpp, with llama.cpp's own argument names.

Standalone on purpose: the standard library and xllamacpp are all it needs, so the same file is what the process host
starts (``python llamacpp_server.py --model ..``) and what an image copies in as its entry point.

It differs from ``llama-server`` in these defaults, so that a measurement is one: the prompt cache is off (a repeated
prompt would look fast), arguments are never fitted to free memory (``--fit off``), nothing is fetched from a network,
``/metrics`` and ``/slots`` are on, and the log is verbose enough (``--verbosity 4``) to prove what was set up.

Exit status: 0 after SIGTERM or SIGINT; 1 when the server cannot start (the reason is the last line of the log);
2 for a wrong argument. A signal while the model still loads ends it at once.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
ON_OFF = ("on", "off")


def say(text: str) -> None:
    """Write one line of our own into the log, at once."""
    sys.stdout.write(f"llamacpp_server: {text}\n")
    sys.stdout.flush()


def die(text: str) -> NoReturn:
    """Say why the server cannot start, as the last line of the log, and end with status 1."""
    say(f"error: {text}")
    raise SystemExit(1)


def positive(text: str) -> int:
    """An integer above zero, for argparse."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return value


def port_number(text: str) -> int:
    """A TCP port, for argparse."""
    value = int(text)
    if not 0 < value < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not a port (1-65535)")
    return value


def build_parser() -> argparse.ArgumentParser:
    """The command line: llama.cpp's names and short names, no abbreviations."""
    parser = argparse.ArgumentParser(
        prog="llamacpp_server", description=(__doc__ or "").splitlines()[0], allow_abbrev=False
    )
    add = parser.add_argument
    add("-m", "--model", default=os.environ.get("LLAMA_ARG_MODEL"), help="GGUF file")
    add("-a", "--alias", help="served model name (default: the file's path)")
    add("--host", default=os.environ.get("LLAMA_ARG_HOST", "127.0.0.1"), help="address to bind")
    add("--port", type=port_number, default=os.environ.get("LLAMA_ARG_PORT", "8080"), help="port to bind")
    add("--api-key", default=os.environ.get("LLAMA_API_KEY"), help="key clients must send; better as LLAMA_API_KEY")
    add("--timeout", type=positive, help="read and write timeout, seconds")
    add("--threads-http", type=positive, help="threads that serve HTTP")
    add("-c", "--ctx-size", type=positive, help="tokens of context, split over the slots (default: the model's own)")
    add("-np", "--parallel", type=positive, default=1, help="slots: requests decoded at the same time")
    add("-t", "--threads", type=positive, help="threads while generating")
    add("-tb", "--threads-batch", type=positive, help="threads while reading prompts (default: --threads)")
    add("-b", "--batch-size", type=positive, help="logical batch, tokens")
    add("-ub", "--ubatch-size", type=positive, help="physical batch, tokens")
    add("-ctk", "--cache-type-k", choices=CACHE_TYPES, help="type of the KV cache's keys")
    add("-ctv", "--cache-type-v", choices=CACHE_TYPES, help="type of the KV cache's values")
    add("-fa", "--flash-attn", choices=(*ON_OFF, "auto"), help="flash attention")
    add("-ngl", "--n-gpu-layers", type=int, help="layers kept on the GPU")
    add("-mg", "--main-gpu", type=int, help="the GPU that is used, or holds small tensors")
    add("-n", "--n-predict", type=int, help="tokens to generate when a request sets no limit")
    add("--poll", type=int, choices=range(101), metavar="0..100", help="polling level while waiting for work")
    add("--prio", type=int, choices=range(4), help="process and thread priority")
    add("--numa", choices=("distribute", "isolate", "numactl"), help="NUMA strategy")
    add("--rope-freq-base", type=float, help="RoPE base frequency")
    add("--rope-freq-scale", type=float, help="RoPE frequency scale")
    add("--chat-template", help="Jinja chat template (default: the model's own)")
    add("--reasoning-format", choices=("none", "auto", "deepseek", "deepseek-legacy"), help="how reasoning is returned")
    add("-cram", "--cache-ram", type=int, help="MiB of host memory for idle prompts (default: 0 without prompt cache)")
    add("--fit", choices=ON_OFF, default="off", help="fit unset arguments to free memory (default: off)")
    add("--no-webui", action="store_true", help="accepted; there is no page here anyway")
    add("-lv", "--verbosity", type=int, default=4, help="llama.cpp's log level (default: 4)")
    for names, default, text in (
        (("--metrics",), True, "the /metrics page (default: on)"),
        (("--slots",), True, "the /slots page (default: on)"),
        (("--cache-prompt",), False, "reuse the KV cache of a repeated prompt (default: off)"),
        (("-cb", "--cont-batching"), None, "continuous batching"),
        (("-kvu", "--kv-unified"), None, "one KV pool for all slots"),
        (("--context-shift",), None, "shift the context when it is full"),
        (("--warmup",), None, "an empty run before the server is ready"),
        (("--jinja",), None, "Jinja chat templates"),
        (("--repack",), None, "repack weights for this CPU"),
        (("--kv-offload",), None, "keep the KV cache on the GPU"),
        (("--swa-full",), None, "full-size cache for sliding-window layers"),
    ):
        add(*names, action=argparse.BooleanOptionalAction, default=default, help=text)
    return parser


def common_params(args: argparse.Namespace) -> Any:
    """The xllamacpp parameters for ``args``; what was not given keeps llama.cpp's own default."""
    import xllamacpp as x

    params = x.CommonParams()
    params.model.path = args.model
    params.hostnames = [args.host]
    params.offline = True
    params.ui = False
    params.endpoint_metrics = args.metrics
    params.endpoint_slots = args.slots
    params.fit_params = args.fit == "on"
    params.cache_idle_slots = args.cache_prompt
    cache_ram = args.cache_ram
    if cache_ram is None and not args.cache_prompt:
        cache_ram = 0
    types = {name: getattr(x.ggml_type, f"GGML_TYPE_{name.upper()}") for name in CACHE_TYPES}
    flash = {
        "on": x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        "auto": x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO,
    }
    values: dict[str, Any] = {
        "port": args.port,
        "n_ctx": args.ctx_size,
        "n_parallel": args.parallel,
        "n_batch": args.batch_size,
        "n_ubatch": args.ubatch_size,
        "n_gpu_layers": args.n_gpu_layers,
        "main_gpu": args.main_gpu,
        "n_predict": args.n_predict,
        "n_threads_http": args.threads_http,
        "timeout_read": args.timeout,
        "timeout_write": args.timeout,
        "cache_type_k": types.get(args.cache_type_k),
        "cache_type_v": types.get(args.cache_type_v),
        "flash_attn_type": flash.get(args.flash_attn),
        "rope_freq_base": args.rope_freq_base,
        "rope_freq_scale": args.rope_freq_scale,
        "chat_template": args.chat_template,
        "cache_prompt": args.cache_prompt,
        "cache_ram_mib": cache_ram,
        "cont_batching": args.cont_batching,
        "kv_unified": args.kv_unified,
        "ctx_shift": args.context_shift,
        "warmup": args.warmup,
        "use_jinja": args.jinja,
        "no_extra_bufts": None if args.repack is None else not args.repack,
        "no_kv_offload": None if args.kv_offload is None else not args.kv_offload,
        "swa_full": args.swa_full,
        "verbosity": args.verbosity,
        "model_alias": None if args.alias is None else {args.alias},
        "api_keys": None if args.api_key is None else [args.api_key],
    }
    if args.numa:
        values["numa"] = getattr(x.ggml_numa_strategy, f"GGML_NUMA_STRATEGY_{args.numa.upper()}")
    if args.reasoning_format:
        name = args.reasoning_format.replace("-", "_").upper()
        values["reasoning_format"] = getattr(x.common_reasoning_format, f"COMMON_REASONING_FORMAT_{name}")
    for name, value in values.items():
        if value is not None:
            setattr(params, name, value)
    for name, target in (("threads", params.cpuparams), ("threads_batch", params.cpuparams_batch)):
        threads = getattr(args, name) or (args.threads if name == "threads_batch" else None)
        if threads is not None:
            target.n_threads = threads
        if args.poll is not None:
            target.poll = args.poll
        if args.prio is not None:
            target.priority = x.ggml_sched_priority(args.prio)
    return params


def file_sha256(path: Path) -> str:
    """sha256 of a file, read in 8 MiB pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(8 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_port(host: str, port: int) -> None:
    """End with a clear line when the port cannot be bound; llama.cpp itself only says that it could not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            die(f"cannot bind {host}:{port}: {error.strerror}")


def let_signals_end_the_load() -> None:
    """Make SIGTERM and SIGINT end this process while a model loads.

    Loading holds the interpreter, so no Python handler would run until it is done. Their default action does, except in
    process 1 of a container, where the kernel ignores it: there libc's own ``_exit`` becomes the handler, and the exit
    status is the signal's number.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() == 1:
            libc = ctypes.CDLL(None)
            libc.signal(int(number), libc._exit)


def serve(args: argparse.Namespace) -> int:
    """Start the server and hold it until a signal arrives."""
    let_signals_end_the_load()
    import xllamacpp

    build = xllamacpp.BUILD_INFO
    say(f"xllamacpp {xllamacpp.__version__}, llama.cpp build {build.get('build_number')} ({build.get('commit')})")
    model = Path(args.model)
    try:
        say(f"model {model}: {model.stat().st_size} bytes, sha256 {file_sha256(model)}")
    except OSError as error:
        die(f"cannot read the model {model}: {error.strerror}")
    say(f"cache_prompt = {'on' if args.cache_prompt else 'off'}")
    check_port(args.host, args.port)
    try:
        server = xllamacpp.Server(common_params(args))
    except RuntimeError as error:
        die(f"llama.cpp did not start ({error}); its own log above says why")
    received: list[signal.Signals] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: received.append(signal.Signals(got)))
    say(f"ready on {server.listening_address}")
    while not received:  # the kernel may hand the signal to a native thread, which cannot wake this one: look again
        time.sleep(0.2)
    say(f"{received[0].name}: shutting down")
    del server
    return 0


def main(argv: list[str] | None = None) -> int:
    """Parse ``argv`` and serve."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if not args.model:
        parser.error("the following arguments are required: -m/--model")
    return serve(args)


if __name__ == "__main__":
    raise SystemExit(main())
