"""Runs like those of ``make demo``: its campaign file, two arms that are published and two that are meant to fail."""

from __future__ import annotations

from benchgate.plan import build_ledger
from benchgate.records import (
    CellOutcome,
    EndState,
    Evidence,
    Failure,
    FailureKind,
    GateResult,
    HostFacts,
    LaunchRecord,
    PlannedLaunch,
    Proof,
    QuarantineRow,
    Verdict,
)
from benchgate.settings import PROJECT_ROOT
from benchgate.spec.load import load_campaign
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.load import load_run
from tests.support.runs import cell_record, launch_record, needle_check, run_record
from tests.support.warehouses import bundle

SMALL, BAD = "small-context", "bad-flag"
REASON = "needle check 0/3: nothing came back from depths 0.1, 0.5, 0.9"


def demo_run(night: str) -> RunBundle:
    """One run of the demo as it ends on a machine where everything goes as its file expects."""
    spec = load_campaign(PROJECT_ROOT / "include" / "campaigns" / "demo.yaml")
    ledger = build_ledger(spec, f"demo.{night}", f"{night}T02:00:00Z")
    outcomes = []
    for cell in ledger.cells:
        state, reason = EndState.PUBLISHED, None
        if cell.arm == SMALL:
            state, reason = EndState.UNPUBLISHABLE, f"{REASON} (not measured)"
        elif cell.arm == BAD:
            state, reason = EndState.NOT_RUN, "bad_flag: the server does not know --moe-backend"
        outcomes.append(CellOutcome(cell=cell.cell, state=state, reason=reason))
    small = next(launch.launch for launch in ledger.launches if launch.arm == SMALL)
    rules = [
        (SMALL, "needle_all_found", False, "0 of 3", "3 of 3", REASON),
        (SMALL, "proven", True, "all", "all", "ok"),
    ]
    return bundle(
        ledger.run,
        spec=spec,
        ledger=ledger,
        launches=[_launch(planned) for planned in ledger.launches],
        cells=[cell_record(cell) for cell in ledger.cells if cell.arm not in (SMALL, BAD)],
        gates=GateResult(
            verdicts=[
                Verdict(
                    subject=small,
                    subject_kind="launch",
                    rule=rule,
                    passed=passed,
                    observed=seen,
                    limit=limit,
                    reason=why,
                )
                for _, rule, passed, seen, limit, why in rules
            ],
            quarantine=[
                QuarantineRow(subject=small, subject_kind="launch", rules=["needle_all_found"], reason=REASON, row={})
            ],
            outcomes=outcomes,
        ),
        run_changes=run_record(spec, ledger.run, started_at=f"{night}T02:00:00Z").model_dump(include={"started_at"}),
    )


def _launch(planned: PlannedLaunch) -> LaunchRecord:
    common = {
        "engine": "llamacpp",
        "image": None,
        "image_digest": None,
        "model_id": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "gpus": [],
        "args": {"threads": 2},
        "host_facts": HostFacts(host="local", kind="process", cpu_model="a CPU", cpu_count=2),
    }
    if planned.arm == BAD:
        failure = Failure(
            kind=FailureKind.BAD_FLAG,
            reason="the server does not know --moe-backend",
            evidence=Evidence(line=1, text="error: invalid argument: --moe-backend"),
        )
        return launch_record(
            planned, **common, end_state="failed", ready_at=None, failure=failure, needle=None, proofs=[],
            fingerprint=None,
        )  # fmt: skip
    evidence = Evidence(line=10, text="system_info: n_threads = 2 / 2")
    return launch_record(
        planned,
        **common,
        proofs=[Proof(name="threads", value=2, evidence=evidence)],
        needle=needle_check(found=0 if planned.arm == SMALL else 3, context=640, counted=608),
    )


def load_demo(url: str, *nights: str) -> None:
    """Load a run of each night."""
    for night in nights:
        load_run(demo_run(night), url)
