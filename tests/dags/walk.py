"""Brings runs of a DAG to their end as Airflow's scheduler would; each task's own end is given, and none is executed.

Run as ``python -m tests.dags.walk DAG_ID`` in a process of its own, since it makes a metadata database in AIRFLOW_HOME.
Reads a list of ``{task_id: state}`` from standard input, one for each run; a task that is not named succeeds. Prints,
for each run, its state and those of its tasks. A run with a ``mark`` is marked so while its first cell is measured.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.dags.conftest import ROOT

_BUNDLE = "dags-folder"


def main(dag_id: str) -> None:
    """Walk every run and print what came of it."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    wanted = json.load(sys.stdin)
    initdb()
    bag = DagBag(str(ROOT / "dags"))
    assert not bag.import_errors, bag.import_errors
    with create_session() as session:
        dag = _stored(bag.dags[dag_id], session)
        found = [_walk(dag, f"run-{number}", ends, session) for number, ends in enumerate(wanted)]
    sys.stdout.write(f"\n{json.dumps(found)}\n")


def _stored(dag: Any, session: Any) -> Any:
    """The DAG as the scheduler has it: from the database, without its operators."""
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import DagSerialization, LazyDeserializedDAG

    session.merge(DagBundleModel(name=_BUNDLE))
    session.flush()
    data = DagSerialization.to_dict(dag)
    lazy = LazyDeserializedDAG(data=data)
    SerializedDAG.bulk_write_to_db(_BUNDLE, None, [lazy], session=session)
    SerializedDagModel.write_dag(lazy, _BUNDLE, session=session)
    session.commit()
    return DagSerialization.from_dict(data)


def _walk(dag: Any, run_id: str, ends: dict[str, str], session: Any) -> dict[str, Any]:
    """One run: whenever the scheduler would send a task off, it ends at once."""
    from airflow._shared.timezones import timezone
    from airflow.utils.state import DagRunState, TaskInstanceState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    run = dag.create_dagrun(
        run_id=run_id,
        run_after=timezone.utcnow(),
        run_type=DagRunType.MANUAL,
        triggered_by=DagRunTriggeredByType.TEST,
        state=DagRunState.RUNNING,
        session=session,
    )
    for _ in range(len(dag.tasks) + 1):
        schedulable, _callback = run.update_state(session=session)
        for task in schedulable:
            task.state = TaskInstanceState(ends.get(task.task_id, "success"))
            if ends.get("mark") and ".measure_" in task.task_id:
                task.state = TaskInstanceState.RUNNING
        session.commit()
        if any(task.state == TaskInstanceState.RUNNING for task in schedulable):
            _mark(dag, run_id, ends["mark"], session)
            session.refresh(run)
        if run.state != DagRunState.RUNNING:
            break
    tasks = run.get_task_instances(session=session)
    return {"state": str(run.state), "tasks": {task.task_id: str(task.state) for task in tasks}}


def _mark(dag: Any, run_id: str, state: str, session: Any) -> None:
    """As the UI and the REST API do."""
    from airflow.api.common.mark_tasks import set_dag_run_state_to_failed, set_dag_run_state_to_success

    mark = {"failed": set_dag_run_state_to_failed, "success": set_dag_run_state_to_success}[state]
    mark(dag=dag, run_id=run_id, commit=True, session=session)
    session.commit()


if __name__ == "__main__":
    main(sys.argv[1])
