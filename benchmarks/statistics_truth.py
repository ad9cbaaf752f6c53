"""Cells with known truth for ``statistics_blind``: as the analysis sees them, and as a run that can be loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchgate.analysis.cells import MeasuredCell, from_row, load_key
from benchgate.analysis.findings import Comparison, RegressionFinding
from benchgate.names import cell_key, launch_key
from benchgate.records import (
    CellOutcome,
    CellSummary,
    EndState,
    Evidence,
    GateResult,
    HostFacts,
    LaunchRecord,
    Ledger,
    PlannedCell,
    PlannedLaunch,
    Proof,
)
from benchgate.warehouse.query import read_relation
from tests.support.runs import campaign, cell_record, launch_record, percentiles, summary
from tests.support.warehouses import bundle

Rng = np.random.Generator
CELLS = 20
USERS = (1, 4, 16, 64)
HOST = "h"
CAMPAIGN = "blind"
# parts of a fingerprint and facts of a cell that a change may touch, and what they usually are
USUAL = {
    "image_digest": "vllm@sha256:" + "a" * 64,
    "driver": "570.1",
    "metric_definition": "1",
    "client_name": "benchgate",
    "token_count_source": "usage",
    "kv_meaning": "blocks",
}
PRINTED = ("image_digest", "driver")  # of these, what a fingerprint holds


@dataclass(frozen=True)
class Made:
    """One measured cell: numbers by column, and what was known about it."""

    night: int
    arm: str
    placement: str
    workload: str
    users: int
    repeat: int
    values: dict[str, float]
    completed: int
    errors: int
    published: bool = True
    facts: dict[str, str] = field(default_factory=dict)  # where they differ from USUAL


def one_night(
    rng: Rng,
    latent: np.ndarray,
    night: int,
    *,
    arm: str = "a",
    placement: str = "p",
    repeats: int = 1,
    own: float | np.ndarray = 0.0,
    tails: float | None = None,
    errors: float = 0.0,
    requests: int = 500,
    missing: float = 0.0,
    missing_cells: float = 0.0,
    refused: float = 0.0,
    new_image: bool = False,
    facts: dict[str, str] | None = None,
) -> list[Made]:
    """The cells of one arm on one placement; ``latent`` has logs of speed and wait for each of the twenty.

    ``own`` is the noise of a repeat, ``tails`` its degrees of freedom, ``errors`` the share of requests that fail.
    ``missing`` is the chance that there was no night, ``missing_cells`` that a cell of arm b is not there, ``refused``
    that a gate refused a cell, which then ran at half speed.
    """
    if missing and night and rng.random() < missing:
        return []
    known = {**(facts or {}), **({"image_digest": f"vllm@sha256:{night // 3:064d}"} if new_image else {})}
    cells = []
    for number in range(CELLS):
        lost = refused and rng.random() < refused
        if arm == "b" and rng.random() < missing_cells:
            continue
        scale = float(own[number]) if isinstance(own, np.ndarray) else own
        for repeat in range(1, repeats + 1):
            draw = rng.normal(size=2) if tails is None else rng.standard_t(tails, 2)
            speed, wait = latent[number] + scale * draw - [0.7 * bool(lost), 0.0]
            failed = int(rng.binomial(requests, errors))
            cells.append(
                Made(
                    night, arm, placement, f"w{number // len(USERS)}", USERS[number % len(USERS)], repeat,
                    numbers(float(speed), float(wait), failed, requests), requests - failed, failed, not lost, known,
                )
            )  # fmt: skip
    return cells


def numbers(speed: float, wait: float, failed: int, requests: int) -> dict[str, float]:
    """The metrics of a cell: decode, prefill and time per token move together, the wait by itself."""
    tpot, ttft = 10.0 * float(np.exp(-speed)), 80.0 * float(np.exp(wait))
    return {
        "decode_tok_s": 1000.0 * float(np.exp(speed)),
        "prefill_tok_s": 2000.0 * float(np.exp(speed)),
        "tpot_p50_ms": tpot,
        "itl_p50_ms": tpot,
        "ttft_p50_ms": ttft,
        "e2e_p50_ms": ttft + 100 * tpot,
        "error_rate": failed / requests,
    }


def when(night: int) -> str:
    """When a night's run started."""
    return f"{np.datetime64('2026-01-01') + night}T02:00:00Z"


def _launch_values(one: Made) -> dict[str, float]:
    return {"startup_s": 100.0, "kv_tokens": 5e5 if one.facts.get("kv_meaning") else 1e6}


def as_measured(nights: Iterable[Sequence[Made]]) -> list[MeasuredCell]:
    """As the analysis reads them from a warehouse."""
    found = []
    for one in (one for night in nights for one in night):
        known = {**USUAL, **one.facts}
        row = {
            "run": f"{CAMPAIGN}.n{one.night}",
            "campaign": CAMPAIGN,
            "night": when(one.night),
            "host": HOST,
            "simulated": False,
            "end_state": "published" if one.published else "unpublishable",
            "max_tokens": 256,
            **{name: getattr(one, name) for name in ("arm", "placement", "workload", "users", "repeat")},
            "completed": one.completed,
            "errors": one.errors,
            **{name: value for name, value in known.items() if name not in PRINTED},
            **one.values,
            **_launch_values(one),
        }
        found.append(from_row(row, {name: known[name] for name in PRINTED}))
    return found


def check_through_warehouse(
    folder: Path, nights: Sequence[Sequence[Made]], expected: Sequence[RegressionFinding] | Sequence[Comparison]
) -> None:
    """Load the nights, run the report's analysis on the last one, and compare what the tables say with ``expected``.

    Raises:
        SystemExit: they differ; says where.
    """
    from benchgate.steps.reporting import write_findings
    from benchgate.warehouse.migrate import migrate

    url = f"sqlite:///{folder}/warehouse.db"
    migrate(url)
    for cells in nights:
        if cells:
            _load(url, cells)
    run = f"{CAMPAIGN}.n{nights[-1][0].night}" if nights[-1] else None
    if run is None:
        return
    write_findings(run, url)
    compared = bool(expected) and isinstance(expected[0], Comparison)
    answer = read_relation("comparison" if compared else "regression", url, limit=None)
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    if compared:
        told = {_key(r): r["verdict"] for r in rows if r["basis"] in ("published", "unpublishable")}
        ours = {_place(c): c.verdict for c in expected if isinstance(c, Comparison)}
    else:
        told = {_key(r): r["answer"] for r in rows if r["run"] == run}
        ours = {_place(f): f.answer for f in expected if isinstance(f, RegressionFinding)}
    if told != ours:
        odd = sorted(set(told.items()) ^ set(ours.items()))
        raise SystemExit(f"the warehouse says something else in {len(odd)} places: {odd[:4]}")


Key = tuple[str, str, str, str]


def _key(row: dict[str, Any]) -> Key:
    return row["arm"], row["workload"], row["load_label"], row["metric"]


def _place(found: RegressionFinding | Comparison) -> Key:
    return found.arm, found.workload, load_key(found.users, found.request_rate), found.metric


def _load(url: str, cells: Sequence[Made]) -> None:
    from benchgate.warehouse.load import load_run

    run, night = f"{CAMPAIGN}.n{cells[0].night}", when(cells[0].night)
    arms = sorted({one.arm for one in cells})
    spec = campaign(
        campaign=CAMPAIGN,
        arms={arm: {"placement": f"{HOST}/p"} for arm in arms},
        repeats=1,
        workloads={f"w{n}": {"dataset": "sharegpt", "users": list(USERS)} for n in range(CELLS // len(USERS))},
        sources=[],
    )
    launches, planned, records, outcomes = {}, [], [], []
    for one in cells:
        key = launch_key(one.arm, HOST, one.placement)
        launches[key] = one
        cell = PlannedCell(
            cell=cell_key(key, one.workload, one.users, None, one.repeat), launch=key, arm=one.arm, host=HOST,
            placement=one.placement, workload=one.workload, users=one.users, request_rate=None, repeat=one.repeat,
        )  # fmt: skip
        planned.append(cell)
        records.append(cell_record(cell, summary=_summary(one)))
        state = EndState.PUBLISHED if one.published else EndState.UNPUBLISHABLE
        outcomes.append(CellOutcome(cell=cell.cell, state=state, reason=None if one.published else "refused"))
    ledger = Ledger(
        campaign=CAMPAIGN, run=run, created_at=night, cells=planned,
        launches=[PlannedLaunch(launch=k, arm=o.arm, host=HOST, placement=o.placement) for k, o in launches.items()],
    )  # fmt: skip
    made = bundle(
        run,
        spec=spec,
        ledger=ledger,
        launches=[_launch(ledger_launch, launches[ledger_launch.launch]) for ledger_launch in ledger.launches],
        cells=records,
        gates=GateResult(verdicts=[], quarantine=[], outcomes=outcomes),
        run_changes={"started_at": night},
    )
    load_run(made, url)


def _summary(one: Made) -> CellSummary:
    known = {**USUAL, **one.facts}
    latencies = {f"{name}_ms": percentiles(one.values[f"{name}_p50_ms"]) for name in ("ttft", "tpot", "itl", "e2e")}
    facts = {name: known[name] for name in ("metric_definition", "client_name", "token_count_source")}
    rates = {name: one.values[name] for name in ("decode_tok_s", "prefill_tok_s", "error_rate")}
    return summary(completed=one.completed, errors=one.errors, **latencies, **rates, **facts)


def _launch(planned: PlannedLaunch, one: Made) -> LaunchRecord:
    known, values = {**USUAL, **one.facts}, _launch_values(one)
    said = Evidence(line=1, text="said")
    return launch_record(
        planned,
        image_digest=known["image_digest"],
        host_facts=HostFacts(host=HOST, kind="docker", driver=known["driver"]),
        args={},
        startup_s=values["startup_s"],
        proofs=[
            Proof(name="kv_tokens", value=values["kv_tokens"], evidence=said),
            Proof(name="kv_meaning", value=known["kv_meaning"], evidence=said),
        ],
    )
