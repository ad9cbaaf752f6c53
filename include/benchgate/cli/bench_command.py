"""``benchgate bench``: measure a server that is already running."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.cli.bench_options import API_KEY, api_key_of, ca_file_of, extra_body_of, goodput_limits, processes_of
from benchgate.cli.bench_table import describe
from benchgate.cli.options import MOST_TOKENS, MOST_USERS, number, output_file, whole
from benchgate.client.config import ARRIVALS, ENDPOINTS, EXIT_NOTHING_SUCCEEDED, PROBES, BenchConfig, OptionError

if TYPE_CHECKING:
    from benchgate.client.bench import BenchResult
    from benchgate.metrics.goodput import Limits
    from benchgate.records import CellSummary

EXIT_BAD_OPTION = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options; where other clients have another name for the same thing, that name works as well."""
    add = parser.add_argument
    add("--base-url", required=True, metavar="URL", help="the server, e.g. http://127.0.0.1:8000 (with or without /v1)")
    add("--model", metavar="ID", help="model name to send (default: the first that the server lists)")
    add("--endpoint", default="chat", choices=ENDPOINTS, help="chat or completions (default: %(default)s)")
    add("--api-key-env", metavar="NAME", help=f"variable that holds the API key (default: {API_KEY}, if it is set)")
    add("--ca-file", metavar="PEM", help="certificates to trust for https (default: the system's)")

    tokens = whole(at_most=MOST_TOKENS)
    data = parser.add_argument_group("what is sent")
    add = data.add_argument
    add("--dataset", "--dataset-path", default="synthetic", metavar="synthetic|FILE", help="ShareGPT file or synthetic")
    add(
        "--prompt-tokens",
        "--random-input-len",
        "--isl",
        type=tokens,
        metavar="N",
        help="length of synthetic prompts",
    )
    add(
        "--max-tokens",
        "--output-tokens",
        "--osl",
        type=tokens,
        default=256,
        metavar="N",
        help="cap (default: %(default)s)",
    )
    add("--temperature", type=number(), default=0.0, metavar="T", help="default: %(default)s; negative: not sent")
    add("--ignore-eos", action="store_true", help="ask for max-tokens tokens always; breaks harmony models on chat")
    add("--extra-body", metavar="JSON", help="object merged into each request; null removes a field")
    add("--seed", type=whole(), default=1017, metavar="N", help="of prompts and arrivals (default: %(default)s)")
    add("--tokenizer", metavar="FILE", help="tokenizer.json for servers that neither tokenize nor send usage")
    add(
        "--tokenize-refused",
        metavar="WHY",
        help="the server's /tokenize failed before, and why: it is not asked again, and the notes say so",
    )
    add("--allow-truncated", action="store_true", help="use what is whole of a cut-off dataset file")

    load = parser.add_argument_group("load")
    add = load.add_argument
    add(
        "--concurrency",
        "--max-concurrency",
        "--users",
        type=whole(at_most=MOST_USERS),
        metavar="N",
        help="users of a closed loop",
    )
    add("--request-rate", type=float, metavar="R", help="open loop: requests per second, counted from their arrival")
    add("--arrivals", default="poisson", choices=ARRIVALS, help="shape of an open loop (default: %(default)s)")
    add("--ramp-seconds", type=float, default=0.0, metavar="S", help="start users (or the rate) gradually")
    add("--num-prompts", "--num-requests", "--requests", type=whole(), metavar="N", help="measured requests")
    add("--max-seconds", "--duration", type=float, metavar="S", help="time cap; what is in flight then is cut_off")
    add("--warmup", "--num-warmups", type=whole(), metavar="N", help="requests before the window (default: one a user)")
    add(
        "--repeats",
        type=whole(at_least=1, at_most=1000),
        default=1,
        metavar="N",
        help="measure N times; results in DIR/r1, DIR/r2, ..",
    )
    add("--timeout", type=float, default=3600.0, metavar="S", help="longest request (default: %(default)g)")
    add(
        "--idle-timeout",
        type=float,
        default=300.0,
        metavar="S",
        help="longest silence in a stream after its first token",
    )
    add("--stop-on-error-rate", type=float, metavar="SHARE", help="end the run when more than this share failed")
    add("--processes", default="auto", metavar="N|auto", help="client processes (default: %(default)s)")
    add("--probe", default="auto", choices=PROBES, help="find out at the start where harmony faults come from")

    result = parser.add_argument_group("result")
    add = result.add_argument
    add("--output", "--result-dir", metavar="DIR", help="folder for summary.json and requests.parquet")
    add("--goodput", metavar="LIMITS", help="e.g. ttft:200,tpot:50 in ms: the share of requests that meet all")
    add(
        "--max-tokens-per-event",
        type=number(above=1),
        default=4.0,
        metavar="N",
        help="above: latencies are a burst, and null",
    )
    add("--min-latency-samples", type=whole(at_least=1), default=5, metavar="N", help="below: latencies are null")
    add("--progress", default="auto", choices=("auto", "bar", "json", "none"), help="bar on a terminal, or JSON lines")


def run(args: argparse.Namespace) -> int:
    """Measure; print the table; write the files. 1 when every request failed."""
    from benchgate.client.prepare import check_dataset

    try:
        config = config_of(args)
        limits = goodput_limits(args.goodput)
        config.check()
        check_dataset(config.dataset)
        output = _output_folder(args.output)
        nothing = None
        for repeat in range(1, args.repeats + 1):
            folder = output if output is None or args.repeats == 1 else output / f"r{repeat}"
            summary = _measure(args, config, limits, folder, repeat)
            nothing = nothing or _nothing_succeeded(summary)
            if summary.stopped_by == "interrupt":
                break
    except OptionError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_BAD_OPTION
    if nothing is not None:
        print(f"error: {nothing}", file=sys.stderr)
        return EXIT_NOTHING_SUCCEEDED
    return 0


def _nothing_succeeded(summary: CellSummary) -> str | None:
    """What to say when every request failed: there are results, and no number among them."""
    if summary.completed or not summary.errors:
        return None
    worst = max(summary.error_groups, key=lambda group: group.count, default=None)
    why = f": {worst.kind}: {' '.join(worst.sample.split())[:200]}" if worst else ""
    return f"none of {summary.errors} requests succeeded{why}"


def config_of(args: argparse.Namespace) -> BenchConfig:
    """The configuration that the options describe.

    Raises:
        OptionError: a value that cannot be read.
    """
    users = args.concurrency
    if users is None and args.request_rate is None:
        users = 1
    return BenchConfig(
        base_url=args.base_url,
        model=args.model,
        endpoint=args.endpoint,
        dataset=args.dataset,
        prompt_tokens=args.prompt_tokens,
        num_prompts=args.num_prompts,
        max_seconds=args.max_seconds,
        users=users,
        request_rate=args.request_rate,
        arrivals=args.arrivals,
        ramp_seconds=args.ramp_seconds,
        max_tokens=args.max_tokens,
        seed=args.seed,
        warmup=args.warmup,
        timeout_s=args.timeout,
        idle_timeout_s=args.idle_timeout,
        processes=processes_of(args.processes),
        ignore_eos=args.ignore_eos,
        temperature=None if args.temperature < 0 else args.temperature,
        extra_body=extra_body_of(args.extra_body),
        stop_on_error_rate=args.stop_on_error_rate,
        tokenizer=args.tokenizer,
        tokenize_refused=args.tokenize_refused,
        api_key=api_key_of(args.api_key_env),
        ca_file=ca_file_of(args),
        probe=args.probe,
        allow_truncated=args.allow_truncated,
    )


def _output_folder(text: str | None) -> Path | None:
    if text is None:
        return None
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"--output {text} cannot be made: {error.strerror or error}") from None
    if not os.access(folder, os.W_OK):
        raise OptionError(f"--output {text} cannot be written to")
    return folder


def _measure(
    args: argparse.Namespace, config: BenchConfig, limits: Limits | None, folder: Path | None, repeat: int
) -> CellSummary:
    from dataclasses import replace

    from benchgate.client.bench import run_bench
    from benchgate.client.progress import ProgressLine

    line = ProgressLine(args.progress)
    # a repeat sends other prompts: with the same ones it would measure the server's prefix cache
    config = replace(config, seed=config.seed + repeat - 1)
    try:
        result = run_bench(config, on_progress=None if line.mode == "none" else line.show)
    finally:
        line.close()
    from benchgate.metrics.summary import summarise  # after the measurement: it imports pydantic

    summary = summarise(
        result.records,
        result.facts,
        limits=limits,
        max_tokens_per_event=args.max_tokens_per_event,
        min_samples=args.min_latency_samples,
    )
    # shown before it is written, which may fail; with JSON progress, stdout belongs to the program that reads it
    print(describe(summary), file=sys.stderr if line.mode == "json" else sys.stdout, flush=True)
    if folder is not None:
        _write(folder, result, summary)
    return summary


def _write(folder: Path, result: BenchResult, summary: CellSummary) -> None:
    from benchgate.client.requests_file import write_requests

    with output_file(folder / "requests.parquet") as aside:
        write_requests(aside, result.records, result.facts)
    with output_file(folder / "summary.json") as aside:
        aside.write_text(summary.model_dump_json(indent=1) + "\n")
