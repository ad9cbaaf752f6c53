"""A run's report out of the warehouse: the ledger, the launches with their evidence, and what the analysis finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.findings_of_run import RunFindings, find
from benchgate.analysis.read import moment_text
from benchgate.report.model import (
    LaunchRow,
    LedgerRow,
    NeedleRow,
    ProofRow,
    RunHeader,
    RunReport,
    SeedRow,
    Source,
    VerdictRow,
)
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, reading


def load_report(run: str = "latest", url: str | None = None, *, campaign: str | None = None) -> RunReport:
    """Everything about one run; ``latest`` is the newest (of ``campaign``, when given).

    Raises:
        WarehouseError: no such run, or no usable warehouse.
    """
    return report_of(find(run, url, campaign=campaign), url)


def report_of(findings: RunFindings, url: str | None = None) -> RunReport:
    """The report that shows ``findings``."""
    run_id = findings.facts.run_id
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            return RunReport(
                header=_header(connection, run_id),
                ledger=tuple(_ledger(connection, run_id)),
                launches=tuple(_launches(connection, run_id)),
                verdicts=tuple(_verdicts(connection, run_id)),
                seeds=tuple(_seeds(connection, run_id)),
                sources=tuple(_sources(connection, findings.facts.sources)),
                cells=findings.cells,
                comparisons=findings.comparisons,
                reversals=findings.reversals,
                references=findings.references,
                reference_comparisons=findings.reference_comparisons,
                reference_reversals=findings.reference_reversals,
                versus=findings.versus,
                series=findings.series,
                regressions=findings.regressions,
            )
    finally:
        engine.dispose()


def _header(connection: Connection, run_id: int) -> RunHeader:
    row = connection.execute(sa.select(t.campaign_run).where(t.campaign_run.c.run_id == run_id)).mappings().one()
    return RunHeader(
        run=row["run"],
        campaign=row["campaign"],
        started_at=moment_text(row["started_at"]) or "",
        ended_at=moment_text(row["ended_at"]),
        state=row["state"],
        airflow_run_id=row["airflow_run_id"],
        benchgate_version=row["benchgate_version"],
        campaign_yaml=row["campaign_yaml"],
        nothing_new_reason=row["nothing_new_reason"],
        expectation_met=row["expectation_met"],
        expectation_reason=row["expectation_reason"],
    )


def _ledger(connection: Connection, run_id: int) -> Iterable[LedgerRow]:
    cell, launch = t.cell, t.launch
    query = (
        sa.select(cell, launch.c.failure_kind, launch.c.failure_line_number, launch.c.failure_line)
        .join(launch, launch.c.launch_id == cell.c.launch_id)
        .where(cell.c.run_id == run_id)
        .order_by(cell.c.arm, cell.c.host, cell.c.placement, cell.c.workload, cell.c.users, cell.c.repeat)
    )
    for row in connection.execute(query).mappings():
        lost = row["end_state"] in ("not_run", "failed") and not row["deselected"]
        yield LedgerRow(
            cell=row["cell"],
            arm=row["arm"],
            host=row["host"],
            placement=row["placement"],
            workload=row["workload"],
            users=row["users"],
            request_rate=row["request_rate"],
            repeat=row["repeat"],
            end_state=row["end_state"],
            reason=row["reason"],
            failure_kind=row["failure_kind"] if lost else None,
            evidence_line_number=row["failure_line_number"] if lost else None,
            evidence_line=row["failure_line"] if lost else None,
            measured=row["completed"] is not None,
        )


_LAUNCH_COLUMNS = (
    "launch",
    "arm",
    "host",
    "placement",
    "end_state",
    "engine",
    "engine_version",
    "image",
    "image_digest",
    "model_id",
    "model_revision",
    "fingerprint",
    "moe_kernel",
    "attention_backend",
    "kv_tokens",
    "kv_meaning",
    "weights_gib",
    "memory_reserved_gib",
    "startup_s",
    "failure_kind",
    "failure_reason",
    "failure_line_number",
    "failure_line",
    "simulated",
    "needle_passed",
)


def _launches(connection: Connection, run_id: int) -> Iterable[LaunchRow]:
    launch = t.launch
    of_run = sa.select(launch.c.launch_id).where(launch.c.run_id == run_id)
    proofs, needles = _by_launch(connection, t.proof, of_run), _by_launch(connection, t.needle_check, of_run)
    machines = _by_launch(connection, t.host_snapshot, of_run)
    query = sa.select(launch).where(launch.c.run_id == run_id).order_by(launch.c.launch)
    for row in connection.execute(query).mappings():
        identity = row["launch_id"]
        machine = machines[identity][0] if machines[identity] else {}
        yield LaunchRow(
            **{name: row[name] for name in _LAUNCH_COLUMNS},
            command=tuple(row["command"] or ()),
            environment_names=tuple(row["environment_names"] or ()),
            arguments=row["arguments"] or {},
            proofs=tuple(_proof(one) for one in sorted(proofs[identity], key=lambda p: str(p["name"]))),
            needles=tuple(_needle(one) for one in sorted(needles[identity], key=lambda n: int(n["needle"]))),
            machine={k: v for k, v in machine.items() if v is not None and k != "launch_id"},
        )


def _by_launch(connection: Connection, table: sa.Table, launches: Any) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in connection.execute(sa.select(table).where(table.c.launch_id.in_(launches))).mappings():
        found[row["launch_id"]].append(dict(row))
    return found


def _proof(row: dict[str, Any]) -> ProofRow:
    return ProofRow(
        row["name"], row["value_text"], row["evidence_line_number"], row["evidence_line"], row["evidence_source"]
    )


def _needle(row: dict[str, Any]) -> NeedleRow:
    error = ": ".join(filter(None, [row["error_kind"], row["error_message"]])) or None
    return NeedleRow(
        depth=row["depth"],
        context_tokens=row["context_tokens"],
        requested_context_tokens=row["requested_context_tokens"],
        expected=row["expected"],
        answered=row["answered"],
        found=row["found"],
        error=error,
    )


def _verdicts(connection: Connection, run_id: int) -> Iterable[VerdictRow]:
    table = t.verdict
    query = (
        sa.select(table)
        .where(table.c.run_id == run_id, sa.not_(table.c.passed))
        .order_by(table.c.severity, table.c.subject, table.c.rule)
    )
    for row in connection.execute(query).mappings():
        yield VerdictRow(
            row["subject"],
            row["rule"],
            row["severity"],
            row["passed"],
            row["observed"],
            row["limit_value"],
            row["reason"],
        )


def _seeds(connection: Connection, run_id: int) -> Iterable[SeedRow]:
    table = t.seed
    query = sa.select(table).where(table.c.run_id == run_id).order_by(table.c.host, table.c.kind, table.c.name)
    for row in connection.execute(query).mappings():
        yield SeedRow(row["host"], row["kind"], row["name"], row["digest"], row["source"], row["path"])


def _sources(connection: Connection, wanted: tuple[str, ...]) -> Iterable[Source]:
    table = t.reference_value
    seen = set()
    query = sa.select(table).where(table.c.source.in_(wanted)).order_by(table.c.source)
    for row in connection.execute(query).mappings():
        if row["source"] in seen:
            continue
        seen.add(row["source"])
        gpus = f"{row['gpu_count']} x {row['gpu']}" if row["gpu_count"] and row["gpu"] else row["gpu"]
        engine = " ".join(filter(None, [row["engine"], row["engine_version"]])) or None
        yield Source(row["source"], row["source_title"], row["source_url"], gpus, engine, row["note"])
