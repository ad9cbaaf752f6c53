"""The ``housekeeping`` DAG: leftovers on hosts, runs that were killed, artifacts and rows past their retention."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, dag, task

log = logging.getLogger("benchgate")

_DOC = """
# housekeeping

Gives runs that were killed their end: every planned cell its state, and the run its rows in the warehouse.
Removes containers and processes of campaign runs that are over (success, failed, killed with their worker, or without
their campaign file for an hour), and per-request records past the nights that their campaign keeps. What is not
labelled as Benchgate's own is never touched, and a run that nobody can tell about is left alone, and named. Each task
says what it removed.
"""


@dag(
    dag_id="housekeeping",
    schedule="17 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["benchgate"],
    doc_md=_DOC,
    default_args={"owner": "benchgate", "retries": 1, "retry_delay": timedelta(minutes=5)},
    is_paused_upon_creation=False,
)
def _housekeeping() -> None:
    @task(doc_md="Removes what runs that are over have left on every host of the inventory.")
    def remove_leftovers(ti=None) -> list[str]:  # type: ignore[no-untyped-def]
        from benchgate.airflow import metrics
        from benchgate.airflow.docker_connections import install
        from benchgate.airflow.run_state import unrecorded_is_over, why_airflow_says_over
        from benchgate.steps import leftovers

        install()
        said = leftovers.remove_leftovers(
            kinds=("docker", "process"),
            ask=lambda record: why_airflow_says_over(ti, record) is not None,
            ask_unrecorded=lambda key: unrecorded_is_over(ti, key),
        )
        for line in said:
            if leftovers.is_removal(line):
                log.info("removed %s", line)
            else:
                log.warning(line)
        metrics.send(metrics.samples_of_housekeeping(said))
        return said

    @task(doc_md="Gives killed runs their end: every cell its state, and the run its rows in the warehouse.")
    def finish_killed_runs(ti=None) -> list[str]:  # type: ignore[no-untyped-def]
        from benchgate.airflow import metrics
        from benchgate.airflow.run_state import why_airflow_says_over
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps import ending

        finished = ending.finish_killed_runs(
            lambda record: ending.why_over(record, ask=lambda asked: why_airflow_says_over(ti, asked)),
            url=warehouse_url(),
        )
        for one in finished:
            log.info(one.text)
        metrics.count_finished(finished)
        return [one.text for one in finished]

    @task(doc_md="Removes per-request files past the nights that their campaign keeps; percentiles stay.")
    def remove_expired_artifacts() -> list[str]:
        from benchgate.steps.expired import remove_expired

        removed = remove_expired()
        for line in removed:
            log.info(line)
        return removed

    @task(doc_md="Removes per-request rows past the nights that their campaign keeps; percentiles stay.")
    def remove_expired_rows() -> int:
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.warehouse.retention import retain

        removed = retain(warehouse_url())
        for line in removed:
            log.info("removed %s", line)
        return len(removed)

    remove_leftovers() >> finish_killed_runs() >> remove_expired_artifacts() >> remove_expired_rows()


def housekeeping_dag() -> DAG:
    """Build the DAG."""
    return _housekeeping()
