"""A run whose every free text tries to become something else than text."""

from __future__ import annotations

from typing import Any

from benchgate.records import (
    Approval,
    CellOutcome,
    EndState,
    ErrorGroup,
    Evidence,
    Failure,
    FailureKind,
    GateResult,
    HostFacts,
    HostSeeds,
    NeedleCheck,
    NeedleResult,
    Proof,
    SeedFact,
    Verdict,
)
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.load import load_run
from tests.support.runs import campaign, cell_record, launch_record, ledger_of, run_record, summary

# an element that loads, a script, an attribute that ends, template code, a direction change, a NUL, a terminal's colour
NASTY = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`{{7*7}}{% raw %}</code></textarea>"
    "\u202eevil\u202c\x00\x1b[31m' OR 1=1;-- javascript:alert(3) \u0634\u0631\u064a\u0631 " + "W" * 200
)
LONG = NASTY + "W" * 10_000  # where a server, a log or a model may say as much as it likes
RUN_ID = "manual__hostile"
CAMPAIGN = "hostile"


def hostile_bundle() -> RunBundle:
    """One night, one launch that was refused and one that died, in nothing but hostile words."""
    spec = campaign(campaign=CAMPAIGN, description=NASTY, repeats=1)
    ledger = ledger_of(spec, f"{CAMPAIGN}.{RUN_ID}")
    ready, dead = ledger.launches
    line = Evidence(line=7, text=LONG)
    needles = NeedleCheck(
        requested_context_tokens=64,
        results=[
            NeedleResult(
                depth=0.5,
                context_tokens=60,
                asked=NASTY,
                expected=NASTY,
                answered=LONG,
                found=False,
                error_kind="bad_response",
                error_message=LONG,
            )
        ],
    )
    launches = [
        launch_record(
            ready,
            engine_version=NASTY,
            image=NASTY,
            image_digest=NASTY,
            model_id=NASTY,
            model_revision=NASTY,
            args={NASTY: NASTY},
            env={"X": NASTY},
            command=["vllm", NASTY],
            fingerprint=NASTY,
            proofs=[
                Proof(name=NASTY, value=NASTY, evidence=line),
                Proof(name="moe_kernel", value=NASTY, evidence=line),
            ],
            warnings=[line],
            needle=needles,
            host_facts=HostFacts(host=ready.host, kind="docker", gpu_model=NASTY, driver=NASTY, os=NASTY),
        ),
        launch_record(
            dead,
            end_state="failed",
            proofs=[],
            needle=None,
            fingerprint=None,
            failure=Failure(kind=FailureKind.UNKNOWN, reason=LONG, evidence=line),
        ),
    ]
    measured = summary(
        latency_verdict="burst",
        latency_reason=NASTY,
        warm_verdict="not_warm",
        warm_reason=NASTY,
        errors=3,
        error_kinds={"stream_error": 3},
        error_groups=[ErrorGroup(kind="stream_error", count=3, near_cap=0, sample=LONG)],
        notes=[NASTY],
        client_version=NASTY,
        ttft_ms=None,
        tpot_ms=None,
        itl_ms=None,
        e2e_ms=None,
    )
    cells = [cell_record(cell, summary=measured, dataset=NASTY) for cell in ledger.cells if cell.launch == ready.launch]
    return RunBundle(
        run=run_record(
            spec,
            ledger.run,
            airflow_run_id=RUN_ID,
            state="failed",
            trigger={"image": NASTY, NASTY: [NASTY]},
            benchgate_version=NASTY,
        ),
        ledger=ledger,
        launches=launches,
        cells=cells,
        gates=GateResult(verdicts=_verdicts(ready.launch, cells[0].cell), quarantine=[], outcomes=_outcomes(ledger)),
        seeds=[HostSeeds(host=ready.host, facts=[SeedFact(kind="model", name=NASTY, digest=NASTY, source=NASTY)])],
        approvals=[Approval(point="regression", approved=False, by=NASTY, at="2026-11-30T04:00:00Z", note=NASTY)],
        expectation=(False, [LONG]),
    )


def load_hostile(url: str) -> None:
    """Put it into a warehouse, findings included."""
    from benchgate.warehouse.findings import replace_findings

    bundle = hostile_bundle()
    load_run(bundle, url)
    place: dict[str, Any] = {"arm": "marlin", "workload": "short-chat", "load_label": "u1"}
    replace_findings(
        bundle.run.run,
        reversals=[
            {
                **place,
                "basis": "published",
                "kind": "between metrics",
                "baseline": NASTY,
                "metric": "decode_tok_s",
                "other_metric": "ttft_p50_ms",
                "label": "significant",
                "other_workload": NASTY,
                "other_load_label": "u1",
                "words": NASTY,
            }
        ],
        regressions=[
            {
                **place,
                "host": "h200",
                "placement": "quad-a",
                "metric": NASTY,
                "answer": "REGRESSED",
                "nights": 9,
                "new_tonight": True,
                "method": NASTY,
                "reason": NASTY,
            }
        ],
        url=url,
    )


def _verdicts(launch: str, cell: str) -> list[Verdict]:
    words = {"passed": False, "observed": NASTY, "limit": NASTY, "reason": NASTY}
    return [
        Verdict(subject=launch, subject_kind="launch", rule=NASTY, **words),
        Verdict(subject=cell, subject_kind="cell", rule=NASTY, severity="warning", **words),
    ]


def _outcomes(ledger: Any) -> list[CellOutcome]:
    states = {ledger.launches[0].launch: EndState.UNPUBLISHABLE, ledger.launches[1].launch: EndState.NOT_RUN}
    return [CellOutcome(cell=cell.cell, state=states[cell.launch], reason=LONG) for cell in ledger.cells]
