"""Which task of the DAG works on a launch or a cell, and the other way round. The DAG builder lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchgate.names import launch_group, measure_task


def launch_task(launch: Mapping[str, Any], step: str) -> str:
    """Task of one step of a launch: preflight, start_server, wait_ready, prove_kernel, needle_check, stop_server."""
    return f"{launch_group(launch['arm'], launch['host'], launch['placement'])}.{step}"


def cell_task(cell: Mapping[str, Any]) -> str:
    """Task that measures a cell."""
    return launch_task(cell, measure_task(cell["workload"], str(cell["load_label"]), cell["repeat"]))


def telling_task(launch: Mapping[str, Any]) -> str:
    """The task whose log says most about how a launch ended."""
    if launch.get("end_state") == "ready":
        return launch_task(launch, "prove_kernel")
    kind = launch.get("failure_kind")
    if launch.get("started_at") is None or kind in ("preflight", "image_missing", "seed_failed"):
        return launch_task(launch, "preflight")
    return launch_task(launch, "start_server" if kind == "lease_held" else "wait_ready")


def subject_of_task(
    task_id: str, launches: Iterable[Mapping[str, Any]], cells: Iterable[Mapping[str, Any]]
) -> tuple[str, str] | None:
    """``("cell", key)`` or ``("launch", key)`` that a task is about; None for tasks about the whole run."""
    for cell in cells:
        if cell_task(cell) == task_id:
            return "cell", str(cell["cell"])
    group, _, _ = task_id.rpartition(".")
    for launch in launches:
        if group and launch_group(launch["arm"], launch["host"], launch["placement"]) == group:
            return "launch", str(launch["launch"])
    return None
