"""Whether a campaign run is over: from its own record, from the process that owns it, from Airflow."""

from __future__ import annotations

import logging
from typing import Any

from benchgate.names import run_key
from benchgate.records import RunRecord
from benchgate.steps import campaign_gone, leftovers

_OVER = ("success", "failed")  # of a DAG run
_ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")

log = logging.getLogger("benchgate")


def is_over(ti: Any, key: str, *, this: str) -> bool:
    """Whether what run ``key`` left on a host may go. This run itself is not over, and one that nobody knows is not.

    Args:
        ti: the running task instance; it can ask Airflow.
        key: of the run that left something.
        this: key of the run that asks.
    """
    if key == this:
        return False
    record = leftovers.record_of(key)
    if record is None:
        return unrecorded_is_over(ti, key) is True
    return leftovers.is_over(record) or why_airflow_says_over(ti, record) is not None


def why_airflow_says_over(ti: Any, record: RunRecord) -> str | None:
    """Why a run is over as Airflow sees it, in words; None while it may be going on, or where Airflow does not tell.

    A DAG run ends by itself only while Airflow has a DAG for it. When the campaign file is deleted or broken, no task
    of it is started again: it is over after a grace, unless a task is still at work. A DAG run that this Airflow does
    not have may be another Airflow's, which keeps its artifacts in the same place: nothing is told of it.
    """
    try:
        state = _text(ti.get_dagrun_state(record.campaign, record.airflow_run_id))
        if state in _OVER:
            return "its DAG run ended without publishing it"
    except Exception as error:  # noqa: BLE001  whatever Airflow says instead of an answer, the safe side is to wait
        log.warning("Airflow does not tell about run %s, so what it left is not touched: %s", record.run, error)
        return None
    if record.owner is not None or record.state != "running":
        return None  # it is kept by its own process, maybe with an Airflow of its own
    try:
        why = campaign_gone.why_no_dag(record.campaign)
        if why is None:
            campaign_gone.forget(record)
            return None
        over = campaign_gone.over_after_grace(record, why) and not _at_work(ti, record)
    except Exception as error:  # noqa: BLE001  as above
        log.warning("run %s may be without its campaign, and is not touched: %s", record.run, error)
        return None
    if not over:
        log.warning("run %s: %s. It counts as over when that stays so, and no task of it works", record.run, why)
        return None
    return f"{why}, so Airflow could start no more of its tasks"


def unrecorded_is_over(ti: Any, key: str) -> bool | None:
    """Whether Airflow counts a run without a record as ended; None when it knows none of that key or cannot tell.

    A run is looked for by the ids of the DAG runs that its campaign has there: a key does not give its run id back.
    """
    parts = key.split(".")
    campaigns = [".".join(parts[:count]) for count in range(1, len(parts))]  # names of campaigns may hold dots
    try:
        found = [
            (campaign, run_id)
            for campaign in campaigns
            for run_id in ti.get_task_states(dag_id=campaign, task_ids=["plan"])
            if run_key(campaign, run_id) == key
        ]
        states = [_text(ti.get_dagrun_state(campaign, run_id)) for campaign, run_id in found]
    except Exception as error:  # noqa: BLE001  the safe side is to leave alone what may still run
        log.warning("Airflow does not tell about run %s, so what it left is not touched: %s", key, error)
        return None
    if not states:
        return None
    if all(state in _OVER for state in states):
        return True
    return None if any(campaign_gone.why_no_dag(campaign) for campaign, _ in found) else False


def _at_work(ti: Any, record: RunRecord) -> bool:
    """Whether a task of the run is running. One that began before its campaign was gone comes to its end."""
    states = ti.get_task_states(dag_id=record.campaign, run_ids=[record.airflow_run_id])
    return any(_text(state) in ("running", "restarting") for state in states.get(record.airflow_run_id, {}).values())


def _text(state: Any) -> str:
    return str(getattr(state, "value", state))


def launch_is_over(ti: Any, group: str) -> bool:
    """Whether every task of a launch's group in this DAG run has ended. Where Airflow does not tell, it has not."""
    try:
        states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id], task_group_id=group)[ti.run_id]
    except Exception as error:  # noqa: BLE001  the safe side is to leave alone what may still run
        log.warning("Airflow does not tell about the tasks of %s, so what they left is not touched: %s", group, error)
        return False
    return bool(states) and all(_text(state) in _ENDED for state in states.values())
