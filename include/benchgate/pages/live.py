"""A run that goes on: the state of each cell before the gates have spoken, and how far the measuring is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchgate.artifacts import RunStore
from benchgate.errors import DamagedArtifact
from benchgate.pages.launch_view import Launch
from benchgate.pages.reading import Row
from benchgate.pages.run_rows import RunRows
from benchgate.pages.server_log import Tail, read_tail
from benchgate.pages.words import now, seconds_between
from benchgate.pages.written import Written
from benchgate.report.tables import load_words

NOT_LOADED = "the run ended before this cell was measured, judged and loaded"


@dataclass(frozen=True)
class CellProgress:
    """How far the load generator is with one cell; None where it does not know yet."""

    cell: str
    launch: str
    title: str
    done: int | None = None
    planned: int | None = None
    tok_s: float | None = None
    errors: int | None = None
    elapsed_s: float | None = None
    left_s: float | None = None


@dataclass(frozen=True)
class Activity:
    """What one launch is doing, in words."""

    launch: str
    words: str
    cell: CellProgress | None = None
    tail: Tail | None = None  # what its server last said; None also for who may not read logs


@dataclass(frozen=True)
class Progress:
    """How far a run is. ``done`` counts cells that will not change any more."""

    done: int
    planned: int
    elapsed_s: float | None
    left_s: float | None  # from the pace so far; None until a cell is done
    activities: tuple[Activity, ...]


def cell_states(found: RunRows, launches: Sequence[Launch], written: Written, *, alive: bool) -> dict[str, str]:
    """Cell -> the state that the page shows. Loaded and judged runs say it themselves."""
    if found.loaded or found.judged:
        return {row["cell"]: "deselected" if row["deselected"] else row["end_state"] for row in found.cells}
    by_id = {row["launch_id"]: launch for row, launch in zip(found.launches, launches, strict=True)}
    states = {row["cell"]: _state(found, row, by_id[row["launch_id"]], alive) for row in found.cells}
    if alive:
        for launch_id, launch in by_id.items():
            current = _current(found, launch_id, launch, states, written)
            if current is not None:
                states[current["cell"]] = "running"
    return states


def _state(found: RunRows, row: Row, launch: Launch, alive: bool) -> str:
    if row["deselected"]:
        return "deselected"
    measured = found.measured.get(row["cell"])
    if measured in ("measured", "failed"):
        return measured
    over = launch.state == "failed" or launch.stopped_at is not None or not alive
    return "not_run" if over else "planned"


def _current(found: RunRows, launch_id: Any, launch: Launch, states: Mapping[str, str], written: Written) -> Row | None:
    """The cell that a ready launch is measuring: the first one that is left, all first repeats before the second."""
    if launch.state != "ready" or launch.stopped_at is not None or not launch.proofs:
        return None
    if launch.needles_asked is None and launch.arm in written.needles:
        return None  # the needle check comes first
    left = [row for row in found.cells if row["launch_id"] == launch_id and states[row["cell"]] == "planned"]
    return min(left, key=lambda row: row["repeat"]) if left else None


def progress_of(
    found: RunRows,
    launches: Sequence[Launch],
    states: Mapping[str, str],
    store: RunStore,
    *,
    logs: bool = False,
    at: str | None = None,
) -> Progress:
    """How far a living run is; with ``logs``, what its servers last said."""
    cells = [row for row in found.cells if not row["deselected"]]
    done = sum(states[row["cell"]] not in ("planned", "running") for row in cells)
    measured = sum(states[row["cell"]] in ("measured", "failed") for row in cells)
    elapsed = seconds_between(found.run["started_at"], at or now())
    first_ready = min((launch.ready_at for launch in launches if launch.ready_at), default=None)
    measuring = seconds_between(first_ready, at or now())
    waiting = sum(states[row["cell"]] in ("planned", "running") for row in cells)
    left = measuring / measured * waiting if measuring and measured else None
    found_activities = (_activity(found, launch, states, store) for launch in launches)
    activities = [activity for activity in found_activities if activity is not None]
    if logs:
        activities = [replace(activity, tail=read_tail(store, activity.launch)) for activity in activities]
    return Progress(done, len(cells), elapsed, left, tuple(activities))


def _activity(found: RunRows, launch: Launch, states: Mapping[str, str], store: RunStore) -> Activity | None:
    if launch.state in ("planned", "failed", "not_run") or launch.stopped_at is not None:
        return None
    if launch.state == "starting":
        return Activity(launch.launch, "starting the server" if launch.started_at else "looking at the host")
    if not launch.proofs:
        return Activity(launch.launch, "reading the server's log")
    for row in found.cells:
        if states[row["cell"]] == "running" and _of(found, row) == launch.launch:
            progress = _cell_progress(store, row, launch.launch)
            return Activity(launch.launch, f"measuring {progress.title}", progress)
    left = any(states[row["cell"]] == "planned" and _of(found, row) == launch.launch for row in found.cells)
    return Activity(launch.launch, "asking the needles" if left else "stopping the server")


def _of(found: RunRows, row: Row) -> str:
    return next(str(launch["launch"]) for launch in found.launches if launch["launch_id"] == row["launch_id"])


def _cell_progress(store: RunStore, row: Row, launch: str) -> CellProgress:
    title = f"{row['workload']}, {load_words(row['users'], row['request_rate'])}, repeat {row['repeat']}"
    try:
        said = store.read_json(store.cell_path(row["cell"], "progress.json"))
    except DamagedArtifact:
        said = None
    if not isinstance(said, dict) or said.get("cell") != row["cell"]:
        return CellProgress(row["cell"], launch, title)
    return CellProgress(
        cell=row["cell"],
        launch=launch,
        title=title,
        done=_whole(said.get("done")),
        planned=_whole(said.get("planned")),
        tok_s=_number(said.get("tok_s")),
        errors=_whole(said.get("errors")),
        elapsed_s=_number(said.get("elapsed_s")),
        left_s=_number(said.get("eta_s")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
