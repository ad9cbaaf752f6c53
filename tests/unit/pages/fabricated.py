"""Nights of a made-up campaign that has everything a page must show: gaps, refusals, a reversal, a regression."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa

from benchgate.names import cell_key, launch_key
from benchgate.records import (
    Approval,
    CellOutcome,
    CellRecord,
    EndState,
    ErrorGroup,
    Evidence,
    Failure,
    FailureKind,
    GateResult,
    HostSeeds,
    LaunchRecord,
    Ledger,
    PlannedCell,
    PlannedLaunch,
    SeedFact,
    Verdict,
)
from benchgate.spec.campaign import CampaignSpec
from benchgate.warehouse import tables as t
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.warehouse.rows import build_rows
from benchgate.warehouse.values import now
from tests.support.runs import campaign, cell_record, launch_record, needle_check, percentiles, run_record, summary

FIRST = datetime(2025, 12, 1, 2, 0, tzinfo=timezone.utc)
ARMS = {
    "triton": {"placement": "h200/quad-a", "prove": {"moe_kernel": "triton"}, "note": "the default of this image"},
    "marlin": {"placement": "h200/quad-b", "prove": {"moe_kernel": "marlin"}},
    "flashinfer": {"placement": "h200/quad-a", "expect": "did_not_run", "note": "needs a kernel this GPU lacks"},
}
WORKLOADS = {
    "short-chat": {"dataset": "sharegpt", "users": [1, 8, 64]},
    "prompt-8k": {"dataset": "synthetic", "prompt_tokens": 8192, "users": [1, 64]},
}


def spec_of(name: str = "kernels", **changes: Any) -> CampaignSpec:
    """The campaign."""
    values: dict[str, Any] = {
        "campaign": name,
        "description": "Which mixture-of-experts kernel serves gpt-oss best on H200?",
        "arms": ARMS,
        "baseline": "triton",
        "swap_placements": True,
        "repeats": 3,
        "workloads": WORKLOADS,
    }
    return campaign(**{**values, **changes})


def run_id_of(night: int) -> str:
    """Airflow's id of a night's run."""
    return f"scheduled__{(FIRST + timedelta(days=night)).isoformat()}"


def night(number: int, spec: CampaignSpec | None = None) -> RunBundle:
    """One night of the campaign; the same number gives the same night."""
    spec = spec or spec_of()
    chance = random.Random(f"{spec.campaign} {number}")
    start = FIRST + timedelta(days=number)
    run = run_record(
        spec,
        f"{spec.campaign}.{run_id_of(number).replace(':', '-').replace('+', '-')}",
        airflow_run_id=run_id_of(number),
        started_at=start.isoformat(),
        ended_at=(start + timedelta(hours=3, minutes=7)).isoformat(),
        state="failed" if number % 9 == 4 else "success",
        trigger={"users": [1, 8, 64]} if number % 5 == 0 else {},
    )
    launches = _planned(spec)
    cells = _cells(spec, launches)
    ledger = Ledger(campaign=spec.campaign, run=run.run, created_at=run.started_at, launches=launches, cells=cells)
    records = [_launch(planned, number, start) for planned in launches]
    by_key = {record.launch: record for record in records}
    measured = [_cell(cell, number, chance, start) for cell in cells if by_key[cell.launch].end_state == "ready"]
    gates = _gates(ledger, by_key, {cell.cell: cell for cell in measured}, number)
    surprised = number % 9 == 4
    return RunBundle(
        run=run,
        ledger=ledger,
        launches=records,
        cells=measured,
        gates=gates,
        seeds=[_seeds()],
        approvals=[_approval(start)] if number % 30 == 1 else [],
        expectation=(not surprised, ["marlin lost a needle on h200/quad-b"] if surprised else []),
    )


def load_nights(url: str, numbers: range, spec: CampaignSpec | None = None) -> None:
    """Write many nights at once: the very rows that a load writes, in one transaction."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for number in numbers:
        for table, made in build_rows(night(number, spec)).items():
            rows.setdefault(table, []).extend(made)
    for row in rows["campaign_run"]:
        row |= {"content_sha256": "0" * 64, "loaded_at": now()}
    engine = open_warehouse(url)
    try:
        with writing(engine) as connection:
            for table in t.metadata.sorted_tables:
                if rows.get(table.name):
                    connection.execute(sa.insert(table), rows[table.name])
    finally:
        engine.dispose()


def _planned(spec: CampaignSpec) -> list[PlannedLaunch]:
    places = ("quad-a", "quad-b")
    return [
        PlannedLaunch(launch=launch_key(arm, "h200", place), arm=arm, host="h200", placement=place, expect=one.expect)
        for arm, one in spec.arms.items()
        for place in (places if one.expect == "published" else places[:1])
    ]


def _cells(spec: CampaignSpec, launches: list[PlannedLaunch]) -> list[PlannedCell]:
    return [
        PlannedCell(
            cell=cell_key(launch.launch, name, users, rate, repeat),
            launch=launch.launch,
            arm=launch.arm,
            host=launch.host,
            placement=launch.placement,
            workload=name,
            users=users,
            request_rate=rate,
            repeat=repeat,
        )
        for launch in launches
        for name, workload in spec.workloads.items()
        for users, rate in workload.loads
        for repeat in range(1, spec.repeats + 1)
    ]


def _launch(planned: PlannedLaunch, number: int, start: datetime) -> LaunchRecord:
    times = {
        "started_at": (start + timedelta(minutes=5)).isoformat(),
        "stopped_at": (start + timedelta(hours=2)).isoformat(),
        "image_digest": "vllm/vllm-openai@sha256:" + f"{number // 7:064x}",
        "engine_version": f"0.26.{number // 30}",
    }
    if planned.expect == "did_not_run":
        line = "RuntimeError: No kernel image is available for execution on the device (flashinfer_moe_fp4)"
        failure = Failure(
            kind=FailureKind.ENGINE_CORE_DIED,
            reason="the engine core died while it loaded: this kernel needs another GPU",
            evidence=Evidence(line=412, text=line),
        )
        return launch_record(
            planned,
            end_state="failed",
            ready_at=None,
            failure=failure,
            needle=None,
            proofs=[],
            fingerprint=None,
            **times,
        )
    lost = number % 9 == 4 and planned.launch == "marlin@h200/quad-b"
    return launch_record(
        planned,
        needle=needle_check(found=2 if lost else 3),
        ready_at=(start + timedelta(minutes=8)).isoformat(),
        command=["vllm", "serve", "openai/gpt-oss-20b", "--moe-backend", planned.arm],
        **times,
    )


def _speed(cell: PlannedCell, number: int, chance: random.Random) -> float:
    """Decode tokens/s: marlin wins short chats, loses long prompts with many users; marlin
    faster since night 18, triton slower since night 300."""
    users = cell.users or 1
    base = 140.0 * users**0.82
    if cell.workload == "prompt-8k":
        base *= 0.55
    if cell.arm == "marlin":
        base *= 0.78 if cell.workload == "prompt-8k" and users > 8 else 1.22
    if cell.placement == "quad-b":
        base *= 0.99
    if number >= 300 and cell.arm == "triton":
        base *= 0.9
    if number >= 18 and cell.arm == "marlin":
        base *= 1.08
    return base * chance.gauss(1.0, 0.012)


def _cell(cell: PlannedCell, number: int, chance: random.Random, start: datetime) -> CellRecord:
    speed = _speed(cell, number, chance)
    users = cell.users or 1
    tpot = 1000.0 * users / speed
    ttft = (45.0 if cell.workload == "short-chat" else 900.0) * users**0.3 * chance.gauss(1.0, 0.02)
    if number % 11 == 7 and cell.workload == "prompt-8k" and users == 64 and cell.repeat == 2 and cell.arm == "triton":
        return cell_record(
            cell, state="failed", summary=None, reason="the load generator ended with exit code 137: it was killed"
        )
    errors = 6 if number % 13 == 5 and users == 64 and cell.arm == "marlin" else 0
    return cell_record(
        cell,
        summary=summary(
            started_at=(start + timedelta(minutes=20)).isoformat(),
            completed=100 - errors,
            errors=errors,
            error_rate=errors / 100,
            error_kinds={"harmony_parse": errors} if errors else {},
            error_groups=[ErrorGroup(kind="harmony_parse", count=errors, near_cap=0, sample="unexpected tokens")]
            if errors
            else [],
            decode_tok_s=speed,
            prefill_tok_s=speed * (2.0 if cell.workload == "short-chat" else 31.0),
            ttft_ms=percentiles(ttft),
            tpot_ms=percentiles(tpot),
            itl_ms=percentiles(tpot, 9900),
            e2e_ms=percentiles(ttft + 100 * tpot),
        ),
        prompt_tokens_requested=8192 if cell.workload == "prompt-8k" else None,
        dataset="sharegpt" if cell.workload == "short-chat" else "synthetic",
    )


def _gates(
    ledger: Ledger, launches: dict[str, LaunchRecord], measured: dict[str, CellRecord], number: int
) -> GateResult:
    outcomes, verdicts = [], []
    for cell in ledger.cells:
        launch, record = launches[cell.launch], measured.get(cell.cell)
        if launch.end_state != "ready":
            failure = launch.failure
            reason = f"the launch failed: {failure.kind.value}: {failure.reason}" if failure else "never ready"
            outcomes.append(CellOutcome(cell=cell.cell, state=EndState.NOT_RUN, reason=reason))
        elif record is None or record.state == "failed":
            reason = record.reason if record else "it left no result"
            outcomes.append(CellOutcome(cell=cell.cell, state=EndState.FAILED, reason=reason))
        elif launch.needle is not None and not launch.needle.passed:
            outcomes.append(
                CellOutcome(cell=cell.cell, state=EndState.UNPUBLISHABLE, reason="needle check 2/3: depth 0.9 was lost")
            )
        elif record.summary is not None and record.summary.errors:
            reason = f"error rate {record.summary.error_rate:.1%} is above 2.0%"
            outcomes.append(CellOutcome(cell=cell.cell, state=EndState.UNPUBLISHABLE, reason=reason))
            verdicts.append(
                Verdict(
                    subject=cell.cell,
                    subject_kind="cell",
                    rule="error_rate",
                    passed=False,
                    observed=f"{record.summary.error_rate:.4f}",
                    limit="0.02",
                    reason=reason,
                )
            )
        else:
            outcomes.append(CellOutcome(cell=cell.cell, state=EndState.PUBLISHED, reason=None))
    for launch in launches.values():
        if launch.needle is not None and not launch.needle.passed:
            verdicts.append(
                Verdict(
                    subject=launch.launch,
                    subject_kind="launch",
                    rule="needle_check",
                    passed=False,
                    observed="2/3",
                    limit="3/3",
                    reason="needle check 2/3: depth 0.9 was lost",
                )
            )
    return GateResult(verdicts=verdicts, quarantine=[], outcomes=outcomes)


def _seeds() -> HostSeeds:
    fact = SeedFact(kind="model", name="openai/gpt-oss-20b@main", digest="b" * 40, source="https://hub.example/gpt-oss")
    return HostSeeds(host="h200", facts=[fact])


def _approval(start: datetime) -> Approval:
    return Approval(point="changed_image", approved=True, by="ada", at=start.isoformat(), note="new nightly, go on")
