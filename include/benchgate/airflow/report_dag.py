"""The ``report`` DAG: follows every load into the warehouse with comparisons, reversals, regressions and the report."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.sdk import DAG, Param, dag, task

from benchgate.airflow.assets import WAREHOUSE

REPORT, WRITE = "report", "write_reports"  # the DAG, and its task that knows which runs it is about

log = logging.getLogger("benchgate")

_DOC = """
# report

Runs whenever a campaign has loaded a run. It compares the run's arms, looks for reversals and for regressions against
earlier nights, writes what it found back into the warehouse (`comparison`, `reversal`, `regression`), puts a
self-contained HTML report beside the run's artifacts, and sends at most one message a night through the notifier that
is configured (`BENCHGATE_NOTIFIER`). Trigger it by hand with `run` to write one report again.
"""


def runs_to_report(triggering: Any, chosen: str | None) -> list[str]:
    """The run keys that this report is about: the one a person chose, else those of the loads that triggered it."""
    if chosen:
        return [chosen]
    runs: list[str] = []
    for events in dict(triggering or {}).values():
        runs += [str(event.extra["run"]) for event in events if event.extra and event.extra.get("run")]
    return list(dict.fromkeys(runs))


@dag(
    dag_id=REPORT,
    schedule=[WAREHOUSE],
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    tags=["benchgate"],
    doc_md=_DOC,
    default_args={"owner": "benchgate", "retries": 1, "retry_delay": timedelta(minutes=1)},
    params={
        "run": Param(
            None,
            type=["null", "string"],
            maxLength=300,
            title="Campaign run",
            description_md="Key of a loaded run, as in `campaign_run.run`. Empty: the runs that were just loaded.",
        )
    },
    is_paused_upon_creation=False,
)
def _report() -> None:
    @task(
        task_id=WRITE,
        doc_md="Comparisons, reversals and regressions into the warehouse, the HTML report into the artifacts.",
    )
    def write_reports(params=None, triggering_asset_events=None) -> list[str]:  # type: ignore[no-untyped-def]
        from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

        from benchgate.airflow.metrics import count_regressions
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.errors import SpecError
        from benchgate.steps.reporting import report_run

        runs = runs_to_report(triggering_asset_events, (params or {}).get("run"))
        if not runs:
            raise AirflowSkipException("no run was loaded; choose one with the param run")
        for run in runs:
            try:
                log.info("report of %s: %s", run, report_run(run, warehouse_url()))
            except SpecError as error:  # a mistake in sources.yaml: no retry mends it
                raise AirflowFailException(str(error)) from None
            count_regressions(run, warehouse_url())
        return runs

    @task(doc_md="At most one message a night, through the notifier that BENCHGATE_NOTIFIER names; none when unset.")
    def announce(runs: list[str]) -> str:
        from benchgate.airflow.notify import send
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.reporting import nightly_message

        message = nightly_message(runs, warehouse_url())
        return send(message) if message else "nothing to announce"

    from benchgate.airflow.approvals import RegressionApproval

    written = write_reports()
    approve = RegressionApproval(task_id="approve_announcement", runs=written)
    announce(approve.output)


def report_dag() -> DAG:
    """Build the DAG."""
    return _report()
