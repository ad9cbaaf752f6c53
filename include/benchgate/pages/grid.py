"""The ledger as a grid: a row for each launch, a column for each workload and load, in each box its repeats."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgate.analysis.measures import MEASURES
from benchgate.pages import task_ids
from benchgate.pages.launch_view import Launch
from benchgate.pages.reading import Row
from benchgate.pages.run_rows import RunRows
from benchgate.pages.written import Written
from benchgate.report.tables import load_words

MEASURE_NAMES = tuple(measure.name for measure in MEASURES if measure.of == "cell")


@dataclass(frozen=True)
class GridCell:
    """One planned cell."""

    cell: str
    repeat: int
    state: str
    reason: str | None
    values: Mapping[str, float | None]  # by measure name
    task: str


@dataclass(frozen=True)
class Column:
    """One workload at one load."""

    workload: str
    load_label: str
    load: str  # in words


@dataclass(frozen=True)
class GridRow:
    """One launch with its boxes, one for each column."""

    launch: str
    arm: str
    place: str  # host/placement
    state: str
    expected: str | None
    boxes: tuple[tuple[GridCell, ...], ...]


@dataclass(frozen=True)
class Why:
    """Cells that are not published for one and the same reason."""

    state: str
    launch: str
    reason: str
    refused_by: str | None
    cells: tuple[str, ...]
    failure_kind: str | None
    line: int | None
    line_text: str | None


@dataclass(frozen=True)
class Grid:
    """The whole ledger of a run."""

    columns: tuple[Column, ...]
    rows: tuple[GridRow, ...]
    counts: Mapping[str, int]  # state -> cells
    why: tuple[Why, ...]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Workloads in the order of the columns, each with its number of columns."""
        return list(Counter(column.workload for column in self.columns).items())


def grid_of(found: RunRows, launches: Sequence[Launch], states: Mapping[str, str], written: Written) -> Grid:
    """Lay out a run.

    Args:
        found: its rows.
        launches: its launches.
        states: cell -> state as it is to be shown.
        written: the campaign file, for the order of things.
    """
    columns = sorted(
        {(row["workload"], row["load_label"], row["users"], row["request_rate"]) for row in found.cells},
        key=lambda column: (written.by_workload(column[0]), column[2] or 0, column[3] or 0),
    )
    boxes: dict[tuple[str, str, str], list[GridCell]] = defaultdict(list)
    launch_of = {row["launch_id"]: row["launch"] for row in found.launches}
    for row in sorted(found.cells, key=lambda cell: cell["repeat"]):
        boxes[(launch_of[row["launch_id"]], row["workload"], row["load_label"])].append(_cell(row, states))
    rows = tuple(
        GridRow(
            launch=launch.launch,
            arm=launch.arm,
            place=f"{launch.host}/{launch.placement}",
            state=launch.state,
            expected=launch.expected,
            boxes=tuple(tuple(boxes.get((launch.launch, c[0], c[1]), ())) for c in columns),
        )
        for launch in sorted(launches, key=lambda one: (written.by_arm(one.arm), one.launch))
    )
    return Grid(
        columns=tuple(Column(c[0], c[1], load_words(c[2], c[3])) for c in columns),
        rows=rows,
        counts=Counter(states.values()),
        why=_why(found, launch_of, states),
    )


def _cell(row: Row, states: Mapping[str, str]) -> GridCell:
    return GridCell(
        cell=row["cell"],
        repeat=row["repeat"],
        state=states[row["cell"]],
        reason=row["reason"],
        values={name: row[name] for name in MEASURE_NAMES},
        task=task_ids.cell_task(row),
    )


def _why(found: RunRows, launch_of: Mapping[Any, str], states: Mapping[str, str]) -> tuple[Why, ...]:
    """Reasons in the order in which a person should read them: most cells first."""
    launches = {row["launch_id"]: row for row in found.launches}
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in found.cells:
        state = states[row["cell"]]
        if state in ("unpublishable", "failed", "not_run") and row["reason"]:
            groups[(state, row["launch_id"], row["reason"], row["refused_by"])].append(row["cell"])
    made = []
    for (state, launch_id, reason, refused_by), cells in groups.items():
        launch = launches[launch_id]
        made.append(
            Why(
                state=state,
                launch=launch_of[launch_id],
                reason=reason,
                refused_by=refused_by,
                cells=tuple(sorted(cells)),
                failure_kind=launch["failure_kind"],
                line=launch["failure_line_number"],
                line_text=launch["failure_line"],
            )
        )
    return tuple(sorted(made, key=lambda why: (-len(why.cells), why.launch, why.reason)))
