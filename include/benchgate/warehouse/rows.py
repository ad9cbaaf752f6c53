"""Records in, table rows out. Pure: the same bundle gives the same rows, whenever and wherever it is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchgate import fingerprint
from benchgate.names import stable_id
from benchgate.records import Approval, LaunchRecord, PlannedLaunch, Verdict
from benchgate.warehouse import tables as t
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.cell_rows import cell_detail_rows, cell_facts
from benchgate.warehouse.medians import fold_repeats
from benchgate.warehouse.values import moment, row

Rows = dict[str, list[dict[str, Any]]]  # table name -> rows, parents before children


def run_id_of(run: str) -> int:
    """The id of a campaign run."""
    return stable_id("run", run)


def launch_id_of(run: str, launch: str) -> int:
    """The id of a launch of a run."""
    return stable_id("launch", run, launch)


def cell_id_of(run: str, cell: str) -> int:
    """The id of a cell of a run."""
    return stable_id("cell", run, cell)


def build_rows(bundle: RunBundle) -> Rows:
    """All rows of a run but its request rows, which are streamed from their files.

    Raises:
        WarehouseError: a record holds a time that is no time.
    """
    rows: Rows = {table.name: [] for table in t.metadata.sorted_tables}
    rows["campaign_run"].append(_run_row(bundle))
    _seed_and_approval_rows(bundle, rows)
    records = {launch.launch: launch for launch in bundle.launches}
    for planned in bundle.all_launches():
        _launch_rows(bundle, planned, records.get(planned.launch), rows)
    _cell_rows(bundle, rows)
    rows["cell_median"] = fold_repeats(rows["campaign_run"][0], rows["launch"], rows["cell"])
    _decision_rows(bundle, rows)
    return rows


def _run_row(bundle: RunBundle) -> dict[str, Any]:
    run = bundle.run
    started = moment(run.started_at, f"run {run.run}: started_at")
    assert started is not None
    met, surprises = bundle.expectation if bundle.expectation is not None else (None, ())
    return row(
        t.campaign_run,
        run_id=run_id_of(run.run),
        run=run.run,
        campaign=run.campaign,
        airflow_run_id=run.airflow_run_id,
        night=started[:10],
        started_at=started,
        ended_at=moment(run.ended_at, f"run {run.run}: ended_at"),
        state=run.state,
        nothing_new_reason=run.nothing_new_reason,
        expectation_met=met,
        expectation_reason="; ".join(surprises) or None,
        trigger_parameters=run.trigger,
        campaign_yaml=run.campaign_yaml,
        benchgate_version=run.benchgate_version,
    )


def _seed_and_approval_rows(bundle: RunBundle, rows: Rows) -> None:
    run = bundle.run.run
    for seeds in bundle.seeds:
        for number, seed in enumerate(seeds.facts):
            identity = stable_id("seed", run, seeds.host, seed.kind, seed.name, str(number))
            rows["seed"].append(
                row(t.seed, seed_id=identity, run_id=run_id_of(run), host=seeds.host, **seed.model_dump())
            )
    rows["approval"] += [approval_row(run, approval) for approval in bundle.approvals]
    spec = bundle.campaign_spec()
    for source in sorted(set(spec.sources)) if spec else []:
        rows["campaign_source"].append(row(t.campaign_source, run_id=run_id_of(run), source=source))


def approval_row(run: str, approval: Approval) -> dict[str, Any]:
    """An answer as it stands in the table, whenever it comes there: with its run, or later."""
    return row(
        t.approval,
        approval_id=stable_id("approval", run, approval.point, approval.at, approval.note or ""),
        run_id=run_id_of(run),
        point=approval.point,
        approved=approval.approved,
        approved_by=approval.by,
        answered_at=moment(approval.at, f"run {run}: approval"),
        note=approval.note,
    )


def _launch_rows(bundle: RunBundle, planned: PlannedLaunch, launch: LaunchRecord | None, rows: Rows) -> None:
    run = bundle.run.run
    launch_id = launch_id_of(run, planned.launch)
    common: dict[str, Any] = {
        "launch_id": launch_id,
        "run_id": run_id_of(run),
        "launch": planned.launch,
        "arm": planned.arm,
        "host": planned.host,
        "placement": planned.placement,
        "expected": planned.expect,
        "baseline_arm": baseline_of(bundle, planned.arm),
    }
    if launch is None:
        rows["launch"].append(row(t.launch, **common, simulated=False, end_state="not_run"))
        return
    rows["launch"].append(row(t.launch, **common, **_launch_facts(launch)))
    for number, proof in enumerate(launch.proofs):
        is_number = isinstance(proof.value, (int, float)) and not isinstance(proof.value, bool)
        rows["proof"].append(
            row(
                t.proof,
                proof_id=stable_id("proof", run, planned.launch, proof.name, str(number)),
                launch_id=launch_id,
                name=proof.name,
                value_text=str(proof.value).lower() if isinstance(proof.value, bool) else str(proof.value),
                value_number=float(proof.value) if is_number else None,
                evidence_line_number=proof.evidence.line,
                evidence_line=proof.evidence.text,
                evidence_source=proof.evidence.source,
            )
        )
    for number, needle in enumerate(launch.needle.results if launch.needle else [], start=1):
        rows["needle_check"].append(
            row(
                t.needle_check,
                needle_check_id=stable_id("needle", run, planned.launch, str(number)),
                launch_id=launch_id,
                needle=number,
                requested_context_tokens=launch.needle.requested_context_tokens if launch.needle else None,
                **needle.model_dump(),
            )
        )
    if launch.host_facts is not None:
        rows["host_snapshot"].append(row(t.host_snapshot, launch_id=launch_id, **launch.host_facts.model_dump()))


def baseline_of(bundle: RunBundle, arm: str) -> str | None:
    """The arm that ``arm`` is divided by: the campaign's baseline when it is of the same group, else the group's first.

    A run without a campaign file (imported results) divides by the first arm of its ledger.
    """
    spec = bundle.campaign_spec()
    if spec is None or arm not in spec.arms:
        return next((launch.arm for launch in bundle.ledger.launches), None)
    group = spec.group_of(arm)
    return spec.baseline if spec.baseline in group else group[0]


def _launch_facts(launch: LaunchRecord) -> dict[str, Any]:
    proven = {proof.name: proof.value for proof in launch.proofs}
    failure, ended, needle = launch.failure, launch.exit, launch.needle
    evidence = failure.evidence if failure else None
    same = (
        "attempt engine engine_version image image_digest image_previous_digest model_id model_revision vocab_sha256 "
        "command simulated fingerprint startup_s end_state gpu_memory_returned"
    )
    return {
        **{name: getattr(launch, name) for name in same.split()},
        **{name: moment(getattr(launch, name), f"launch {launch.launch}: {name}") for name in _LAUNCH_TIMES},
        "arguments": launch.args,
        "environment": launch.env,
        "fingerprint_parts": fingerprint.parts(launch),
        "environment_names": launch.env_names,
        "failure_kind": failure.kind.value if failure else None,
        "failure_reason": failure.reason if failure else None,
        "failure_line_number": evidence.line if evidence else None,
        "failure_line": evidence.text if evidence else None,
        "exit_code": ended.exit_code if ended else None,
        "exit_signal": ended.signal if ended else None,
        "oom_killed": ended.oom_killed if ended else None,
        "moe_kernel": _text(proven.get("moe_kernel")),
        "attention_backend": _text(proven.get("attention_backend")),
        "kv_tokens": _integer(proven.get("kv_tokens")),
        "kv_meaning": _text(proven.get("kv_meaning")),
        "weights_gib": _number(proven.get("weights_gib")),
        "memory_reserved_gib": _number(proven.get("memory_reserved_gib")),
        "needles_asked": len(needle.results) if needle else None,
        "needles_found": needle.found if needle else None,
        "needle_context_tokens": needle.requested_context_tokens if needle else None,
        "needle_passed": needle.passed if needle else None,
        "warnings": [warning.model_dump() for warning in launch.warnings],
    }


_LAUNCH_TIMES = ("started_at", "ready_at", "stopped_at")


def _cell_rows(bundle: RunBundle, rows: Rows) -> None:
    run, outcomes = bundle.run.run, bundle.outcomes()
    measured = {cell.cell: cell for cell in bundle.cells}
    deselected, spec = set(bundle.ledger.deselected), bundle.campaign_spec()
    refused_by = _refusals(bundle.gates.verdicts)
    for planned in bundle.all_cells():
        record, outcome = measured.get(planned.cell), outcomes[planned.cell]
        workload = spec.workloads.get(planned.workload) if spec else None
        rules = [*refused_by.get(planned.launch, ()), *refused_by.get(planned.cell, ())]
        refused = outcome.state.value == "unpublishable"
        rows["cell"].append(
            row(
                t.cell,
                cell_id=cell_id_of(run, planned.cell),
                run_id=run_id_of(run),
                launch_id=launch_id_of(run, planned.launch),
                deselected=planned.cell in deselected,
                end_state=outcome.state.value,
                reason=outcome.reason,
                refused_by=", ".join(dict.fromkeys(rules)) or None if refused else None,
                endpoint=workload.endpoint if workload else None,
                requests_planned=workload.requests_at(planned.users) if workload else None,
                **cell_facts(planned, record),
            )
        )
        if record is not None:
            cell_detail_rows(cell_id_of(run, planned.cell), record, rows)


def _refusals(verdicts: Iterable[Verdict]) -> Mapping[str, list[str]]:
    """Subject -> critical rules that refused it."""
    refused: dict[str, list[str]] = {}
    for verdict in verdicts:
        if not verdict.passed and verdict.severity == "critical":
            refused.setdefault(verdict.subject, []).append(verdict.rule)
    return refused


def _decision_rows(bundle: RunBundle, rows: Rows) -> None:
    run = bundle.run.run
    launches = {launch.launch for launch in bundle.all_launches()}
    launch_of = {cell.cell: cell.launch for cell in bundle.all_cells()}

    def parents(kind: str, subject: str) -> dict[str, int | None]:
        launch = launch_of.get(subject) if kind == "cell" else subject
        known = launch is not None and launch in launches
        return {
            "run_id": run_id_of(run),
            "launch_id": launch_id_of(run, launch) if known and launch is not None else None,
            "cell_id": cell_id_of(run, subject) if kind == "cell" and subject in launch_of else None,
        }

    for number, verdict in enumerate(bundle.gates.verdicts):
        rows["verdict"].append(
            row(
                t.verdict,
                verdict_id=stable_id("verdict", run, verdict.subject_kind, verdict.subject, verdict.rule, str(number)),
                limit_value=verdict.limit,
                **parents(verdict.subject_kind, verdict.subject),
                **verdict.model_dump(exclude={"limit"}),
            )
        )
    for number, refused in enumerate(bundle.gates.quarantine):
        rows["quarantine"].append(
            row(
                t.quarantine,
                quarantine_id=stable_id("quarantine", run, refused.subject_kind, refused.subject, str(number)),
                subject_kind=refused.subject_kind,
                subject=refused.subject,
                rules=", ".join(refused.rules),
                reason=refused.reason,
                row_values=refused.row,
                **parents(refused.subject_kind, refused.subject),
            )
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _integer(value: object) -> int | None:
    number = _number(value)
    return None if number is None else round(number)
