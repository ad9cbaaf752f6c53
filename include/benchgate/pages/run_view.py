"""The page of one campaign run: its ledger, why cells are missing, its launches, and how far it is while it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.engine import Connection

from benchgate.analysis.measures import BY_NAME, MAIN
from benchgate.artifacts import RunStore
from benchgate.names import run_key
from benchgate.pages.grid import Grid, grid_of
from benchgate.pages.launch_view import Launch, Refusal, launch_views, refusals
from benchgate.pages.live import Progress, cell_states, progress_of
from benchgate.pages.reading import Row
from benchgate.pages.run_rows import RunRows, find_run
from benchgate.pages.words import day, iso, seconds_between
from benchgate.pages.written import Written, read_written
from benchgate.secrets import mask


@dataclass(frozen=True)
class DagRunState:
    """What Airflow knows of a run, for the caller to tell."""

    campaign: str
    run_id: str
    state: str  # queued, running, success or failed
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def alive(self) -> bool:
        """Whether it may still change."""
        return self.state in ("queued", "running")


@dataclass(frozen=True)
class Pending:
    """A question that Airflow is asking a person about this run."""

    task_id: str
    subject: str


@dataclass(frozen=True)
class Head:
    """The run itself."""

    campaign: str
    run_id: str  # Airflow's
    run: str  # run key: the warehouse's and the artifact store's name
    night: str | None
    started_at: str | None
    ended_at: str | None
    duration_s: float | None
    state: str  # queued, running, success, failed or nothing_new
    loaded: bool
    expectation_met: bool | None
    expectation_reason: str | None
    nothing_new_reason: str | None
    trigger: Mapping[str, Any]
    version: str | None
    in_airflow: bool = True  # whether Airflow has this run: one by hand, imported or cleaned up has no tasks to lead to


@dataclass(frozen=True)
class Seed:
    """What was fetched and verified before the servers started."""

    host: str
    kind: str
    name: str
    digest: str | None
    source: str
    note: str | None


@dataclass(frozen=True)
class Approval:
    """A person's answer."""

    point: str
    approved: bool
    by: str | None
    at: str | None
    note: str | None


@dataclass(frozen=True)
class Regression:
    """What the analysis said of this night for the first time."""

    answer: str
    where: str
    metric: str
    change: float | None
    low: float | None
    high: float | None
    reason: str


@dataclass(frozen=True)
class ReversalLine:
    """One metric whose order of two arms changes, with all the places in which it does."""

    metric: str
    words: str
    main: bool  # one of the metrics that a reader looks at first


@dataclass(frozen=True)
class RunView:
    """Everything that the page of a run shows."""

    head: Head
    grid: Grid | None = None  # None while nothing is planned yet
    launches: tuple[Launch, ...] = ()
    progress: Progress | None = None  # while it runs
    warnings: tuple[Refusal, ...] = ()
    seeds: tuple[Seed, ...] = ()
    approvals: tuple[Approval, ...] = ()
    pending: tuple[Pending, ...] = ()
    reversals: tuple[ReversalLine, ...] = ()
    regressions: tuple[Regression, ...] = ()
    description: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)  # arm -> why it is there
    campaign_yaml: str = ""


def run_view(
    connection: Connection | None,
    campaign: str,
    run_id: str,
    *,
    known: DagRunState | None = None,
    pending: Sequence[Pending] = (),
    logs: bool = False,
) -> RunView | None:
    """The page of one run; None when neither warehouse, artifacts nor Airflow know it.

    ``logs``: the reader may read logs, so show what running servers last said.
    """
    found = find_run(connection, campaign, run_id)
    if found is None:
        return None if known is None else RunView(_bare_head(known), pending=tuple(pending))
    written = read_written(found.run["campaign_yaml"])
    alive = is_alive(found, known)
    launches = launch_views(found, alive=alive)
    states = cell_states(found, launches, written, alive=alive)
    progress = progress_of(found, launches, states, RunStore(found.run["run"]), logs=logs) if alive else None
    return RunView(
        head=head_of(found, alive, known),
        grid=grid_of(found, launches, states, written),
        launches=in_order(launches, written),
        progress=progress,
        warnings=refusals(v for v in found.verdicts if v["severity"] == "warning"),
        seeds=tuple(_seed(row) for row in found.seeds),
        approvals=tuple(_approval(row) for row in found.approvals),
        pending=tuple(pending),
        reversals=_reversals(found.reversals),
        regressions=tuple(_regression(row) for row in found.regressions),
        description=written.description,
        notes=written.notes,
        campaign_yaml=mask(found.run["campaign_yaml"]),
    )


def is_alive(found: RunRows, known: DagRunState | None) -> bool:
    """Whether the run may still change. Airflow knows best; without it, a run that is not loaded and not ended."""
    if found.loaded:
        return False
    return known.alive if known is not None else found.run["ended_at"] is None


def in_order(launches: Sequence[Launch], written: Written) -> tuple[Launch, ...]:
    """Launches in the order of the campaign file."""
    return tuple(sorted(launches, key=lambda launch: (written.by_arm(launch.arm), launch.launch)))


def head_of(found: RunRows, alive: bool, known: DagRunState | None) -> Head:
    """The run itself, from its row; ``known`` is what Airflow says of it."""
    run = found.run
    state = run["state"]
    if not found.loaded:
        state = "running" if alive else "failed" if state == "running" else state
    return Head(
        campaign=run["campaign"],
        run_id=run["airflow_run_id"],
        run=run["run"],
        night=day(run["night"]),
        started_at=iso(run["started_at"]),
        ended_at=iso(run["ended_at"]),
        duration_s=seconds_between(run["started_at"], run["ended_at"]),
        state=state,
        loaded=found.loaded,
        expectation_met=run["expectation_met"],
        expectation_reason=run["expectation_reason"],
        nothing_new_reason=run["nothing_new_reason"],
        trigger=run["trigger_parameters"] or {},
        version=run["benchgate_version"],
        in_airflow=known is not None,
    )


def _bare_head(known: DagRunState) -> Head:
    return Head(
        campaign=known.campaign,
        run_id=known.run_id,
        run=run_key(known.campaign, known.run_id),
        night=day(known.started_at),
        started_at=known.started_at,
        ended_at=known.ended_at,
        duration_s=seconds_between(known.started_at, known.ended_at),
        state=known.state,
        loaded=False,
        expectation_met=None,
        expectation_reason=None,
        nothing_new_reason=None,
        trigger={},
        version=None,
    )


def _seed(row: Row) -> Seed:
    return Seed(row["host"], row["kind"], row["name"], row["digest"], mask(row["source"]), row["note"])


def _approval(row: Row) -> Approval:
    return Approval(row["point"], row["approved"], row["approved_by"], iso(row["answered_at"]), row["note"])


def _reversals(found: Sequence[Row]) -> tuple[ReversalLine, ...]:
    """A sentence for each pair of arms and metric; the table has a row for each pair of places."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    lines = []
    for row in found:
        if row["other_metric"] and row["other_metric"] != row["metric"]:
            lines.append(ReversalLine(row["metric"], row["words"], row["metric"] in MAIN))
        else:
            groups[(row["arm"], row["baseline"], row["metric"], row["basis"])].append(row)
    for (arm, baseline, metric, basis), rows in groups.items():
        ahead = dict.fromkeys(_place(row["workload"], row["load_label"], row["point"]) for row in rows)
        behind = dict.fromkeys(
            _place(row["other_workload"], row["other_load_label"], row["other_point"]) for row in rows
        )
        title = BY_NAME[metric].title if metric in BY_NAME else metric
        words = f"{arm} against {baseline}, {title}: ahead at {', '.join(ahead)}, but behind at {', '.join(behind)}."
        if basis != "published":
            words += " Measured on cells that a gate refused: not for publication."
        lines.append(ReversalLine(metric, words, metric in MAIN))
    return tuple(sorted(lines, key=lambda line: not line.main))


def _place(workload: str, load_label: str, point: float | None) -> str:
    return f"{workload} {load_label}" + (f" ({point:.2f}x)" if point is not None else "")


def _regression(row: Row) -> Regression:
    where = f"{row['arm']} on {row['host']}/{row['placement']}, {row['workload']} {row['load_label']}"
    return Regression(
        row["answer"], where, row["metric"], row["change"], row["change_low"], row["change_high"], row["reason"]
    )
