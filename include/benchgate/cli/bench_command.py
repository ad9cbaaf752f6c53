"""``benchgate bench``: measure a server that is already running."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.cli.bench_arguments import add_arguments
from benchgate.cli.bench_options import api_key_of, ca_file_of, extra_body_of, goodput_limits, processes_of
from benchgate.cli.bench_table import describe
from benchgate.cli.options import output_file
from benchgate.client.config import EXIT_NOTHING_SUCCEEDED, BenchConfig, OptionError

if TYPE_CHECKING:
    from benchgate.client.bench import BenchResult
    from benchgate.metrics.goodput import Limits
    from benchgate.records import CellSummary

__all__ = ["add_arguments", "config_of", "run"]

EXIT_BAD_OPTION = 2


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
