"""The page of one campaign run: its ledger, why cells are missing, its launches, and how far it is while it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from benchgate.analysis.measures import BY_NAME, MAIN
from benchgate.artifacts import RunStore
from benchgate.pages.grid import Grid, grid_of
from benchgate.pages.head import DagRunState, Head, Pending, bare_head, head_of, is_alive
from benchgate.pages.launch_view import Launch, Refusal, launch_views, refusals
from benchgate.pages.live import Progress, cell_states, progress_of
from benchgate.pages.reading import Row
from benchgate.pages.run_rows import find_run
from benchgate.pages.words import iso
from benchgate.pages.written import Written, read_written
from benchgate.secrets import mask


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
        return None if known is None else RunView(bare_head(known), pending=tuple(pending))
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


def in_order(launches: Sequence[Launch], written: Written) -> tuple[Launch, ...]:
    """Launches in the order of the campaign file."""
    return tuple(sorted(launches, key=lambda launch: (written.by_arm(launch.arm), launch.launch)))


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
