"""Whether a launch of this run is over, as Airflow tells it: what it left may go only then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchgate.airflow.run_state import launch_is_over

GROUP = "marlin--h200--quad-a"


def task(states: Any) -> Any:
    """A running task whose Airflow answers with the states of a group's tasks, or with an error."""

    def get_task_states(*, dag_id: str, run_ids: list[str], task_group_id: str) -> Any:
        assert (dag_id, run_ids, task_group_id) == ("c", ["night-1"], GROUP)
        if isinstance(states, Exception):
            raise states
        return {"night-1": states}

    return SimpleNamespace(dag_id="c", run_id="night-1", get_task_states=get_task_states)


@pytest.mark.parametrize(
    ("states", "over"),
    [
        ({f"{GROUP}.start_server": "failed", f"{GROUP}.stop_server": "upstream_failed"}, True),
        ({f"{GROUP}.measure": "success", f"{GROUP}.stop_server": "failed", f"{GROUP}.x": "skipped"}, True),
        ({f"{GROUP}.measure": "failed", f"{GROUP}.stop_server": "running"}, False),
        ({f"{GROUP}.measure": "failed", f"{GROUP}.stop_server": None}, False),
        ({f"{GROUP}.measure": "up_for_retry", f"{GROUP}.stop_server": "success"}, False),
        ({}, False),
        (RuntimeError("the API server does not answer"), False),
    ],
)
def test_a_launch_is_over_when_every_task_of_it_has_ended_and_airflow_says_so(states: Any, over: bool) -> None:
    assert launch_is_over(task(states), GROUP) is over
