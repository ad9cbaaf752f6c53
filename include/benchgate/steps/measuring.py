"""Step ``measure``: one cell, by the load generator beside the server, with the server watched around it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchgate.client.config import EXIT_NOTHING_SUCCEEDED
from benchgate.client.requests_file import read_requests
from benchgate.engines import get_engine
from benchgate.errors import ArtifactError, BenchgateError, MeasureFailed
from benchgate.gates.totals import token_totals
from benchgate.hosts.base import Host, Mount, ServerHandle
from benchgate.metrics.goodput import Limits
from benchgate.metrics.summary import summarise
from benchgate.records import CellRecord, CellSummary, Evidence, PlannedCell
from benchgate.spec.campaign import Gates, WorkloadSpec
from benchgate.steps import server_life
from benchgate.steps.client_args import bench_args
from benchgate.steps.context import CampaignRun
from benchgate.steps.launching import Say, launch_record, started
from benchgate.steps.log_tail import keeping_log_tail
from benchgate.steps.server_metrics import MetricsWatch
from benchgate.steps.watching import ClientWatch

RunClient = Callable[..., int]
_MARGIN_S = 300.0  # start-up and prompts that are made; the warm-up may take as long as the window


def why_not_measured(run: CampaignRun, launch_key: str) -> str | None:
    """Why a launch's cells are not measured; None when they are. What follows from a gate, not from this cell."""
    record = run.launch_record(launch_key)
    if record is None:
        return "the launch was never attempted"
    if record.end_state != "ready":
        failure = record.failure
        return f"the launch failed: {failure.kind.value}: {failure.reason}" if failure else "the server never was ready"
    if record.fingerprint is None and not record.proofs:
        return "the launch was not proven"
    from benchgate.steps.proving import unproven_claims

    unproven = unproven_claims(run.campaign.arms[record.arm].prove, {proof.name: proof for proof in record.proofs})
    if unproven:
        return "; ".join(unproven)
    gate = run.campaign.gates_of(record.arm).needle
    if gate and gate.on_failure == "stop" and not (record.needle and record.needle.passed):
        if record.needle is None:
            return "the needle check did not end"
        return f"needle check {record.needle.found}/{len(record.needle.results)}"
    return None


def measure_cell(run: CampaignRun, cell_key: str, *, client: RunClient | None = None, say: Say = print) -> CellRecord:
    """Measure one planned cell; a cell that was not warm is measured once more, and the second result counts.

    Args:
        run: the campaign run.
        cell_key: of a planned cell.
        client: runs the load generator instead of the host's own ``run_client``; the host goes before its arguments.
        say: takes what a person should read.

    Raises:
        MeasureFailed: there is no result. The cell is recorded as failed, with the reason.
    """
    cell = next((planned for planned in run.ledger.cells if planned.cell == cell_key), None)
    if cell is None:
        raise BenchgateError(f"run {run.run} has no cell {cell_key}", remedy="plan the run again")
    try:
        record = _measure(run, cell, say, client, again=False)
        if record.summary and record.summary.warm_verdict == "not_warm":
            say(f"not warm: {record.summary.warm_reason}; measuring once more")
            record = _measure(run, cell, say, client, again=True)
    except BaseException as error:
        # whatever ended it: the ledger will say so, also when the task is killed
        reason = str(error) if isinstance(error, BenchgateError) else f"{type(error).__name__}: {error}"
        try:
            fail_cell(run, cell, reason)
        except ArtifactError as unwritten:  # a full disk, say: what ended the measurement is what a person must see
            say(f"{cell.cell}: its end could not be recorded: {unwritten}")
        raise
    _say_result(record, say)
    return record


def fail_cell(run: CampaignRun, cell: PlannedCell, reason: str) -> CellRecord:
    """Record that a cell has no result, and why."""
    return run.save_cell(_empty(run, cell, reason))


def _measure(run: CampaignRun, cell: PlannedCell, say: Say, client: RunClient | None, *, again: bool) -> CellRecord:
    handle, record = started(run, cell.launch), launch_record(run, cell.launch)
    host, engine = run.host(handle.host), get_engine(record.engine)
    workload, gates = run.campaign.workloads[cell.workload], run.campaign.gates_of(cell.arm)
    seeds = run.seeds(cell.host)
    run.forget_cell(cell.cell)
    ended = server_life.end_of(host, handle)
    if ended is not None:
        how = server_life.record_end(run, cell.launch, host, handle, ended)
        raise MeasureFailed(f"{cell.cell}: the server is gone: {how}", remedy="see the launch's server log")
    args = bench_args(
        workload,
        cell,
        base_url=handle.base_url,
        model=record.model_id,
        dataset=seeds.datasets.get(workload.dataset, workload.dataset),
        tokenizer=run.campaign.model_of(cell.arm).tokenizer,
        tokenize_refused=record.tokenize_refused,
        again=again,
    )
    args += ["--max-tokens-per-event", f"{gates.max_tokens_per_event:g}"]
    args += ["--min-latency-samples", str(gates.min_latency_samples)]
    lines_before = [0]

    def window_begins() -> None:
        lines_before[0] = sum(1 for _ in host.log_lines(handle))

    watch = ClientWatch(cell.cell, run.store, run.store.cell_path(cell.cell, "progress.json"), say, window_begins)
    with tempfile.TemporaryDirectory(prefix="benchgate-cell-") as folder:
        output = Path(folder)
        metrics = MetricsWatch(
            lambda: host.http_get(handle, "/metrics"),
            engine.parse_metrics,
            gpu=(lambda: host.gpu_samples(handle)) if record.gpus else None,
        )
        alive = server_life.outlived_by_server(
            run, cell.launch, host, handle, keep=lambda: _keep_results(run, cell, output)
        )
        with keeping_log_tail(run, cell.launch, host, handle), metrics.watching(), alive:
            run_client = partial(client, host) if client else host.run_client
            code = run_client(
                handle,
                args,
                output,
                on_line=watch,
                timeout_s=2 * workload.max_seconds + workload.ramp_seconds + _MARGIN_S,
                mounts=[Mount(mount.source, mount.target) for mount in seeds.mounts],
            )
        # a cell whose requests all failed has a result: its gates say what that is worth
        if code not in (0, EXIT_NOTHING_SUCCEEDED) or not (output / "summary.json").is_file():
            said = "; ".join(watch.tail[-3:]) or "it said nothing"
            raise MeasureFailed(f"{cell.cell}: the load generator ended with exit code {code}: {said}")
        summary = CellSummary.model_validate_json((output / "summary.json").read_text())
        if summary.tokenize_refused != record.tokenize_refused:  # the next cells of this launch need not ask
            run.update_launch(cell.launch, tokenize_refused=summary.tokenize_refused)
        compiled = _compiled(host, handle, engine.name, lines_before[0])
        if compiled:
            summary = _with_compiles(output, summary, workload, gates, compiled)
            (output / "summary.json").write_text(summary.model_dump_json(indent=1))
        parquet = (output / "requests.parquet").read_bytes()
        _keep_results(run, cell, output)
        shutil.rmtree(output, ignore_errors=True)
    return run.save_cell(
        _empty(run, cell, None).model_copy(
            update={
                "state": "measured",
                "summary": summary,
                "server_metrics": metrics.result,
                "client_totals": token_totals(parquet),
                "gpu": metrics.gpu,
            }
        )
    )


def _keep_results(run: CampaignRun, cell: PlannedCell, output: Path) -> None:
    """Copy what the load generator wrote into the artifacts."""
    requests, summary = output / "requests.parquet", output / "summary.json"
    if requests.is_file():
        run.store.put(run.store.cell_path(cell.cell, requests.name), requests)
    if summary.is_file():
        run.store.write_text(run.store.cell_path(cell.cell, summary.name), summary.read_text())


def _compiled(host: Host, handle: ServerHandle, engine: str, skip: int) -> list[Evidence]:
    """Kernels that the engine says it compiled since the measured window began."""
    lines = host.log_lines(handle)
    return get_engine(engine).compile_events(line for number, line in enumerate(lines) if number >= skip)


def _with_compiles(
    output: Path, summary: CellSummary, workload: WorkloadSpec, gates: Gates, compiled: list[Evidence]
) -> CellSummary:
    """The same records, judged with what only the server's log can tell."""
    records, facts = read_requests(output / "requests.parquet")
    limits = Limits(**workload.goodput.model_dump()) if workload.goodput else None
    judged = summarise(
        records,
        facts,
        limits=limits,
        max_tokens_per_event=gates.max_tokens_per_event,
        min_samples=gates.min_latency_samples,
        compiled=[event.text for event in compiled],
    )
    return summary.model_copy(update={"warm_verdict": judged.warm_verdict, "warm_reason": judged.warm_reason})


def _empty(run: CampaignRun, cell: PlannedCell, reason: str | None) -> CellRecord:
    workload = run.campaign.workloads[cell.workload]
    return CellRecord(
        **cell.model_dump(),
        state="failed",
        reason=reason,
        prompt_tokens_requested=workload.prompt_tokens,
        max_tokens=workload.max_tokens,
        dataset=workload.dataset,
    )


def _say_result(record: CellRecord, say: Say) -> None:
    summary = record.summary
    if summary is None:
        return
    ttft = f"{summary.ttft_ms.p50:.1f} ms" if summary.ttft_ms and summary.ttft_ms.p50 is not None else "none"
    tpot = f"{summary.tpot_ms.p50:.2f} ms" if summary.tpot_ms and summary.tpot_ms.p50 is not None else "none"
    decode = f"{summary.decode_tok_s:.1f} tok/s" if summary.decode_tok_s is not None else "unknown"
    say(
        f"{summary.completed} completed, {summary.errors} errors, {summary.cut_off} cut off; decode {decode}, "
        f"TTFT p50 {ttft}, TPOT p50 {tpot}; latencies {summary.latency_verdict}, "
        f"{summary.warm_verdict or 'warmth unknown'}"
    )
