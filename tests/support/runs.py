"""Records of made-up campaign runs: a clean one by default, and whatever a test changes about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchgate import plan
from benchgate.client.requests_file import write_requests
from benchgate.names import launch_key
from benchgate.records import (
    CellOutcome,
    CellRecord,
    CellSummary,
    EndState,
    Evidence,
    Failure,
    FailureKind,
    GateResult,
    HostFacts,
    LaunchRecord,
    Ledger,
    NeedleCheck,
    NeedleResult,
    Percentiles,
    PlannedCell,
    PlannedLaunch,
    Proof,
    RunRecord,
)
from benchgate.request_record import ClientFacts, RequestRecord
from benchgate.spec.campaign import CampaignSpec

CAMPAIGN: dict[str, Any] = {
    "campaign": "kernels",
    "engine": "vllm",
    "image": "vllm/vllm-openai:nightly",
    "model": {"id": "openai/gpt-oss-20b"},
    "arms": {
        "triton": {"placement": "h200/quad-a", "prove": {"moe_kernel": "triton"}},
        "marlin": {"placement": "h200/quad-b", "prove": {"moe_kernel": "marlin"}},
    },
    "repeats": 2,
    "workloads": {
        "short-chat": {"dataset": "sharegpt", "users": [1, 8]},
        "prompt-8k": {"dataset": "synthetic", "prompt_tokens": 8192, "users": [8]},
    },
    "gates": {"needle": {"context_tokens": 8192}},
    "sources": ["write-up"],
}


def campaign(**changes: Any) -> CampaignSpec:
    """The campaign above, with top-level fields replaced."""
    return CampaignSpec.model_validate({**CAMPAIGN, **changes})


def planned_cell(
    launch: str = "a@here/one",
    workload: str = "chat",
    users: int | None = 4,
    rate: float | None = None,
    repeat: int = 1,
) -> PlannedCell:
    """One line of a ledger."""
    arm, _, where = launch.partition("@")
    host, _, placement = where.partition("/")
    planned = PlannedLaunch(launch=launch, arm=arm, host=host, placement=placement)
    return plan.planned_cell(planned, workload, users, rate, repeat)


def ledger_of(spec: CampaignSpec, run: str = "kernels.night-1") -> Ledger:
    """Each arm on its own placement, every workload, load and repeat."""
    launches, cells = [], []
    for name, arm in spec.arms.items():
        host, _, placement = str(arm.placement).partition("/")
        launch = launch_key(name, host, placement)
        launches.append(PlannedLaunch(launch=launch, arm=name, host=host, placement=placement, expect=arm.expect))
        for workload, load in spec.workloads.items():
            for users, rate in load.loads:
                for repeat in range(1, spec.repeats + 1):
                    cells.append(planned_cell(launch, workload, users, rate, repeat))
    return Ledger(campaign=spec.campaign, run=run, created_at="2026-11-30T02:00:00Z", launches=launches, cells=cells)


def needle_check(
    found: int = 3, depths: Sequence[float] = (0.1, 0.5, 0.9), context: int = 8192, counted: int | None = 7936
) -> NeedleCheck:
    """A check that found the first ``found`` needles."""
    results = [
        NeedleResult(
            depth=depth,
            context_tokens=counted,
            asked="What is the code?",
            expected=f"{number}4711",
            answered=f"{number}4711" if number < found else "I do not know.",
            found=number < found,
        )
        for number, depth in enumerate(depths)
    ]
    return NeedleCheck(requested_context_tokens=context, results=results)


def launch_record(planned: PlannedLaunch, **changes: Any) -> LaunchRecord:
    """A proven, ready launch whose needles all came back."""
    values: dict[str, Any] = {
        "launch": planned.launch,
        "arm": planned.arm,
        "host": planned.host,
        "placement": planned.placement,
        "engine": "vllm",
        "engine_version": "0.26.0",
        "image": "vllm/vllm-openai:nightly",
        "image_digest": "sha256:" + "a" * 64,
        "model_id": "openai/gpt-oss-20b",
        "model_revision": "b" * 40,
        "gpus": ["0", "1", "2", "3"],
        "args": {"moe-backend": planned.arm},
        "host_facts": HostFacts(host=planned.host, kind="docker", gpu_model="NVIDIA H200", driver="580.1"),
        "fingerprint": f"fp1:{planned.arm}",
        "started_at": "2026-11-30T02:01:00Z",
        "ready_at": "2026-11-30T02:04:00Z",
        "stopped_at": "2026-11-30T03:00:00Z",
        "startup_s": 180.0,
        "end_state": "ready",
        "proofs": [
            Proof(
                name="moe_kernel", value=planned.arm, evidence=Evidence(line=88, text=f"Using {planned.arm} backend")
            ),
            Proof(
                name="kv_tokens",
                value=2_610_000,
                evidence=Evidence(line=91, text="GPU KV cache size: 2,610,000 tokens"),
            ),
            Proof(name="weights_gib", value=12.9, evidence=Evidence(line=70, text="Model loading took 12.9 GiB")),
            Proof(name="memory_reserved_gib", value=120.0, evidence=Evidence(line=71, text="reserved 120 GiB")),
        ],
        "needle": needle_check(),
    }
    return LaunchRecord(**{**values, **changes})


def failed_launch(planned: PlannedLaunch) -> LaunchRecord:
    """A launch that died for want of its vocabulary."""
    line = "error downloading or loading vocab file: failed to download or load vocab file"
    failure = Failure(
        kind=FailureKind.VOCAB_MISSING, reason="the vocabulary was not seeded", evidence=Evidence(line=412, text=line)
    )
    return launch_record(
        planned, end_state="failed", ready_at=None, failure=failure, needle=None, proofs=[], fingerprint=None
    )


def percentiles(middle: float, n: int = 100) -> Percentiles:
    """A plausible distribution around ``middle`` ms."""
    return Percentiles(p50=middle, p90=middle * 1.5, p95=middle * 1.7, p99=middle * 2, mean=middle * 1.1, n=n)


def summary(**changes: Any) -> CellSummary:
    """A clean measurement: 100 requests, streamed token by token, on a warm server."""
    values: dict[str, Any] = {
        "client_name": "benchgate",
        "client_version": "0.1.0",
        "metric_definition": "1",
        "token_count_source": "usage",
        "started_at": "2026-11-30T02:10:00Z",
        "completed": 100,
        "errors": 0,
        "cut_off": 0,
        "error_kinds": {},
        "prompt_tokens": 20_000,
        "completion_tokens": 10_000,
        "duration_s": 10.0,
        "prefill_tok_s": 2000.0,
        "decode_tok_s": 1000.0,
        "error_rate": 0.0,
        "ttft_ms": percentiles(80.0),
        "tpot_ms": percentiles(9.0),
        "itl_ms": percentiles(9.0, 9900),
        "e2e_ms": percentiles(1000.0),
        "latency_verdict": "valid",
        "warm_verdict": "warm",
        "events": 10_000,
        "tokens_per_event": 1.0,
    }
    return CellSummary(**{**values, **changes})


def cell_record(planned: PlannedCell, **changes: Any) -> CellRecord:
    """A measured cell."""
    identity = planned.model_dump()
    return CellRecord(**{**identity, "state": "measured", "summary": summary(), "max_tokens": 256, **changes})


def run_record(spec: CampaignSpec, run: str = "kernels.night-1", **changes: Any) -> RunRecord:
    """A finished run."""
    text = yaml.safe_dump(spec.model_dump(mode="json", exclude_unset=True), sort_keys=False)
    values: dict[str, Any] = {
        "run": run,
        "campaign": spec.campaign,
        "airflow_run_id": f"scheduled__{run}",
        "started_at": "2026-11-30T02:00:00+00:00",
        "ended_at": "2026-11-30T03:10:00+00:00",
        "state": "success",
        "campaign_yaml": text,
        "benchgate_version": "0.1.0",
    }
    return RunRecord(**{**values, **changes})


def all_published(ledger: Ledger) -> GateResult:
    """What the gates say of a run without a fault, for tests that are not about gates."""
    outcomes = [CellOutcome(cell=cell.cell, state=EndState.PUBLISHED, reason=None) for cell in ledger.cells]
    return GateResult(verdicts=[], quarantine=[], outcomes=outcomes)


def requests_file(path: Path, count: int = 20, change: Callable[[RequestRecord], None] | None = None) -> Path:
    """Request records as the client writes them; ``change`` edits each one."""
    records = []
    for number in range(count):
        sent = number * 0.25
        record = RequestRecord(
            request_id=number,
            user=number % 4,
            queued_at=sent - 0.001,
            sent_at=sent,
            first_token_at=sent + 0.080 + number * 0.001,
            first_visible_at=sent + 0.090 + number * 0.001,
            last_token_at=sent + 1.0 + number * 0.01,
            ended_at=sent + 1.01 + number * 0.01,
            http_status=200,
            finish_reason="stop",
            prompt_tokens=200,
            completion_tokens=100,
            token_count_source="usage",
            max_tokens=256,
            events=100,
            itl_s=[0.009] * 99,
        )
        if change is not None:
            change(record)
        records.append(record)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_requests(path, records, ClientFacts(client_name="benchgate", client_version="0.1.0"))
    return path
