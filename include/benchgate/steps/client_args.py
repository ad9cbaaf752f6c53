"""From a planned cell to the command line of the load generator. Pure."""

from __future__ import annotations

import json

from benchgate.names import load_label, stable_id
from benchgate.records import PlannedCell
from benchgate.spec.campaign import WorkloadSpec


def cell_seed(workload: WorkloadSpec, cell: PlannedCell, *, again: bool = False) -> int:
    """The seed of a cell's prompts: the same for every arm and night, another for each load level and repeat.

    Two cells of one launch never send the same prompts, or the second would measure the prefix cache.
    """
    parts = [str(workload.seed), cell.workload, load_label(cell.users, cell.request_rate), str(cell.repeat)]
    return stable_id(*parts, *(["again"] if again else [])) % 2**31


def bench_args(
    workload: WorkloadSpec,
    cell: PlannedCell,
    *,
    base_url: str,
    model: str,
    dataset: str,
    tokenizer: str | None = None,
    tokenize_refused: str | None = None,
    again: bool = False,
) -> list[str]:
    """Arguments of ``benchgate bench`` for one cell, without ``--output``."""
    args = ["bench", "--base-url", base_url, "--model", model, "--endpoint", workload.endpoint]
    args += ["--dataset", dataset, "--max-tokens", str(workload.max_tokens)]
    args += ["--max-seconds", f"{workload.max_seconds:g}", "--seed", str(cell_seed(workload, cell, again=again))]
    if workload.prompt_tokens is not None:
        args += ["--prompt-tokens", str(workload.prompt_tokens)]
    requests = workload.requests_at(cell.users)
    if requests is not None:
        args += ["--num-prompts", str(requests)]
    if cell.users is not None:
        args += ["--concurrency", str(cell.users)]
    else:
        args += ["--request-rate", f"{cell.request_rate:g}", "--arrivals", workload.arrivals]
    if workload.warmup_requests is not None:
        args += ["--warmup", str(workload.warmup_requests)]
    if workload.ramp_seconds:
        args += ["--ramp-seconds", f"{workload.ramp_seconds:g}"]
    # negative: the request says nothing, and the server's default holds
    args += ["--temperature", "-1" if workload.temperature is None else f"{workload.temperature:g}"]
    if workload.ignore_eos:
        args.append("--ignore-eos")
    if workload.extra_body:
        args += ["--extra-body", json.dumps(workload.extra_body)]
    if workload.stop_on_error_rate is not None:
        args += ["--stop-on-error-rate", f"{workload.stop_on_error_rate:g}"]
    if workload.goodput is not None:
        limits = workload.goodput.model_dump(exclude_none=True)
        args += ["--goodput", ",".join(f"{name.removesuffix('_ms')}:{limit:g}" for name, limit in limits.items())]
    if tokenizer is not None:
        args += ["--tokenizer", tokenizer]
    if tokenize_refused is not None:
        args += ["--tokenize-refused", tokenize_refused]
    return [*args, "--progress", "json"]
