"""Reading results out of the warehouse: rows in, the statistics' own types out. No number is made here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import sqlalchemy as sa
import yaml
from sqlalchemy.engine import Connection

from benchgate.analysis.cells import MeasuredCell, from_row
from benchgate.analysis.findings import RegressionFinding
from benchgate.analysis.measures import BY_NAME, MEASURES
from benchgate.analysis.reference import ReferenceCell
from benchgate.analysis.regression import LONGEST_HISTORY
from benchgate.errors import WarehouseError
from benchgate.warehouse import tables as t

# parts of an arm that are read from its launch; each argument is a part of its own
LAUNCH_PARTS = (
    "image_digest",
    "engine",
    "engine_version",
    "model_id",
    "model_revision",
    "vocab_sha256",
    "moe_kernel",
    "attention_backend",
    "fingerprint",
)
MACHINE_PARTS = {
    "gpu_model": "gpu_model",
    "driver": "driver",
    "cuda": "cuda",
    "cpu_model": "cpu_model",
    "kernel": "host_kernel",
    "engine_version": "docker_version",
}
_REGRESSION_COLUMNS = (
    "arm",
    "workload",
    "metric",
    "answer",
    "reason",
    "method",
    "nights",
    "value",
    "previous_value",
    "change",
    "change_low",
    "change_high",
    "smallest_visible_change",
    "p_value",
    "adjusted_p",
    "new_tonight",
)
# names that reference values carry -> measure
REFERENCE_METRICS = {"ttft_ms": "ttft_p50_ms", "tpot_ms": "tpot_p50_ms"}


@dataclass(frozen=True)
class RunFacts:
    """What the analysis needs to know of a campaign run besides its cells."""

    run_id: int
    run: str
    campaign: str
    started_at: str
    baselines: Mapping[str, str]  # arm -> the arm of its group that it is divided by
    home: Mapping[str, str]  # arm -> host/placement that the campaign file names
    sources: tuple[str, ...]


def read_run(connection: Connection, run: str, campaign: str | None = None) -> RunFacts:
    """The run with this key; ``latest`` for the newest one (of ``campaign``, when given).

    Raises:
        WarehouseError: there is no such run.
    """
    table = t.campaign_run
    query = sa.select(table).order_by(table.c.started_at.desc(), table.c.run.desc()).limit(1)
    if run != "latest":
        query = query.where(table.c.run == run)
    if campaign is not None:
        query = query.where(table.c.campaign == campaign)
    row = connection.execute(query).mappings().first()
    if row is None:
        what = f"run {run}" if run != "latest" else "run" if campaign is None else f"run of campaign {campaign}"
        known = connection.scalars(sa.select(table.c.run).order_by(table.c.started_at.desc()).limit(5)).all()
        remedy = f"newest runs: {', '.join(known)}" if known else "the warehouse holds no run yet"
        raise WarehouseError(f"the warehouse has no {what}", remedy=remedy)
    sources = sa.select(t.campaign_source.c.source).where(t.campaign_source.c.run_id == row["run_id"])
    return RunFacts(
        run_id=row["run_id"],
        run=row["run"],
        campaign=row["campaign"],
        started_at=moment_text(row["started_at"]) or "",
        baselines=dict(_baselines(connection, row["run_id"])),
        home=home_placements(row["campaign_yaml"]),
        sources=tuple(connection.scalars(sources.order_by(t.campaign_source.c.source))),
    )


def _baselines(connection: Connection, run_id: int) -> list[tuple[str, str]]:
    launch = t.launch
    query = sa.select(launch.c.arm, launch.c.baseline_arm).where(launch.c.run_id == run_id).distinct()
    return [(arm, base) for arm, base in connection.execute(query) if base is not None]


def campaign_text(connection: Connection, run_id: int) -> str:
    """The campaign file of a loaded run, as it was for that run; empty for imported runs.

    Raises:
        WarehouseError: there is no such run.
    """
    run = t.campaign_run
    text = connection.scalar(sa.select(run.c.campaign_yaml).where(run.c.run_id == run_id))
    if text is None:
        raise WarehouseError(f"the warehouse has no run with the id {run_id}", remedy="load the run first")
    return str(text)


def home_placements(campaign_yaml: str) -> dict[str, str]:
    """Arm -> the placement that the campaign file gives it; empty for imported runs, which have no file."""
    try:
        written = yaml.safe_load(campaign_yaml)
    except yaml.YAMLError:
        return {}
    arms = written.get("arms") if isinstance(written, dict) else None
    if not isinstance(arms, dict):
        return {}
    places = {name: arm.get("placement") for name, arm in arms.items() if isinstance(arm, dict)}
    return {str(name): place for name, place in places.items() if isinstance(place, str)}


def read_cells(connection: Connection, runs: Sequence[int]) -> list[MeasuredCell]:
    """Every measured cell (published or refused) of these runs, with the parts of its launch's fingerprint."""
    if not runs:
        return []
    cell, launch, run = t.cell, t.launch, t.campaign_run
    values = [cell.c[measure.name] for measure in MEASURES if measure.of == "cell"]
    query = (
        sa.select(
            run.c.run,
            run.c.campaign,
            run.c.started_at.label("night"),
            cell.c.launch_id,
            cell.c.arm,
            cell.c.host,
            cell.c.placement,
            cell.c.workload,
            cell.c.users,
            cell.c.request_rate,
            cell.c.repeat,
            cell.c.end_state,
            cell.c.reason,
            cell.c.completed,
            cell.c.errors,
            cell.c.dataset,
            cell.c.prompt_tokens_requested,
            cell.c.max_tokens,
            cell.c.client_name,
            cell.c.client_version,
            cell.c.metric_definition,
            cell.c.token_count_source,
            cell.c.latency_verdict,
            cell.c.latency_reason,
            cell.c.warm_verdict,
            launch.c.simulated,
            *(launch.c[measure.name] for measure in MEASURES if measure.of == "launch"),
            launch.c.kv_meaning,
            *values,
        )
        .join(launch, launch.c.launch_id == cell.c.launch_id)
        .join(run, run.c.run_id == cell.c.run_id)
        .where(cell.c.run_id.in_(runs), cell.c.end_state.in_(("published", "unpublishable")))
        .where(cell.c.client_name.is_not(None))  # refused before it was measured: no numbers
        .order_by(run.c.started_at, cell.c.cell)
    )
    parts = _fingerprint_parts(connection, runs)
    moments: dict[Any, str | None] = {}
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    found = []
    for result in connection.execute(query).mappings():
        row = dict(result)
        started = row["night"]
        if started not in moments:
            moments[started] = moment_text(started)
        row["night"] = moments[started]
        found.append(from_row(row, parts.get(row["launch_id"], {}), seen))
    return found


def _fingerprint_parts(connection: Connection, runs: Sequence[int]) -> dict[int, dict[str, str | None]]:
    """Launch id -> the parts of its fingerprint, one object for all cells of the launch."""
    launch, host = t.launch, t.host_snapshot
    query = (
        sa.select(
            launch.c.launch_id,
            launch.c.arguments,
            launch.c.environment_names,
            *(launch.c[name].label(f"part_{name}") for name in LAUNCH_PARTS),
            *(host.c[name].label(f"part_{part}") for name, part in MACHINE_PARTS.items()),
        )
        .outerjoin(host, host.c.launch_id == launch.c.launch_id)
        .where(launch.c.run_id.in_(runs))
    )
    found = {}
    for row in connection.execute(query).mappings():
        parts = {name[5:]: _text(value) for name, value in row.items() if name.startswith("part_")}
        arguments = row["arguments"]
        if isinstance(arguments, dict):
            # all in one, so that a flag that was added or removed is seen as well
            parts["arguments"] = " ".join(f"{name}={arguments[name]}" for name in sorted(arguments)) or "none"
        if isinstance(row["environment_names"], list):
            parts["environment"] = " ".join(sorted(map(str, row["environment_names"]))) or "none"
        found[row["launch_id"]] = parts
    return found


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def history(connection: Connection, run: RunFacts) -> list[int]:
    """Ids of the campaign's runs up to this one, newest ``LONGEST_HISTORY`` of those that measured something."""
    table = t.campaign_run
    query = (
        sa.select(table.c.run_id)
        .where(table.c.campaign == run.campaign, table.c.state != "nothing_new")
        .where(
            sa.or_(
                table.c.started_at
                < sa.select(table.c.started_at).where(table.c.run_id == run.run_id).scalar_subquery(),
                table.c.run_id == run.run_id,
            )
        )
        .order_by(table.c.started_at.desc())
        .limit(LONGEST_HISTORY)
    )
    return list(connection.scalars(query))


def read_references(connection: Connection) -> tuple[list[ReferenceCell], dict[str, str]]:
    """What sources state, and the arm that each source's ratios divide by."""
    table = t.reference_value
    cells: dict[tuple[str, str, str, int | None], dict[str, float]] = defaultdict(dict)
    baselines: dict[str, str] = {}
    for row in connection.execute(sa.select(table).order_by(table.c.reference_value_id)).mappings():
        metric = REFERENCE_METRICS.get(row["metric"], row["metric"])
        if metric in BY_NAME:
            cells[(row["source"], row["arm"], row["workload"], row["users"])][metric] = row["value"]
        if row["baseline_arm"]:
            baselines[row["source"]] = row["baseline_arm"]
    return [ReferenceCell(*key, values) for key, values in sorted(cells.items(), key=str)], baselines


def read_regressions(connection: Connection, run: RunFacts) -> list[RegressionFinding]:
    """The findings that were written for this run."""
    table = t.regression_finding
    query = sa.select(table).where(table.c.run_id == run.run_id).order_by(table.c.regression_finding_id)
    found = []
    for row in connection.execute(query).mappings():
        users, rate = parse_load_label(row["load_label"])
        found.append(
            RegressionFinding(
                run=run.run,
                campaign=run.campaign,
                placement=f"{row['host']}/{row['placement']}",
                users=users,
                request_rate=rate,
                since_night=moment_text(row["since_night"]),
                since_run=row["changed_since_run"],
                what_changed={name: (a, b) for name, (a, b) in (row["what_changed"] or {}).items()},
                **{name: row[name] for name in _REGRESSION_COLUMNS},
            )
        )
    return found


def parse_load_label(label: str) -> tuple[int | None, float | None]:
    """``u64`` and ``q2.5`` back into users and request rate; two None for ``all``."""
    if label == "all":
        return None, None
    return (int(label[1:]), None) if label.startswith("u") else (None, float(label[1:]))


def moment_text(value: Any) -> str | None:
    """A moment as ``2026-11-30T02:00:00Z`` (a day as ``2026-11-30``), whichever database gave it."""
    if isinstance(value, str) and len(value) > 10:
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, date):
        return value.isoformat()
    return None if value is None else str(value)
