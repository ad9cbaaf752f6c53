"""Whether a campaign run is over: from its own record, from the process that owns it, from Airflow."""

from __future__ import annotations

import logging
from typing import Any

from benchgate.records import RunRecord
from benchgate.steps import leftovers

_ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")

log = logging.getLogger("benchgate")


def is_over(ti: Any, key: str, *, this: str) -> bool:
    """Whether what run ``key`` left on a host may go. This run itself is not over, and an unknown one is not.

    Args:
        ti: the running task instance; it can ask Airflow.
        key: of the run that left something.
        this: key of the run that asks.
    """
    record = leftovers.record_of(key)
    if record is None or key == this:
        return False
    return leftovers.is_over(record) or airflow_says_over(ti, record)


def airflow_says_over(ti: Any, record: RunRecord) -> bool:
    """Whether Airflow counts the DAG run as ended. A run that it does not know (any more) counts as going on."""
    try:
        state = ti.get_dagrun_state(record.campaign, record.airflow_run_id)
    except Exception as error:  # noqa: BLE001  whatever Airflow says instead of an answer, the safe side is to wait
        log.warning("Airflow does not tell about run %s, so what it left is not touched: %s", record.run, error)
        return False
    return str(getattr(state, "value", state)) in ("success", "failed")


def launch_is_over(ti: Any, group: str) -> bool:
    """Whether every task of a launch's group in this DAG run has ended. Where Airflow does not tell, it has not."""
    try:
        states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id], task_group_id=group)[ti.run_id]
    except Exception as error:  # noqa: BLE001  the safe side is to leave alone what may still run
        log.warning("Airflow does not tell about the tasks of %s, so what they left is not touched: %s", group, error)
        return False
    return bool(states) and all(str(getattr(state, "value", state)) in _ENDED for state in states.values())
