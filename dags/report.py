"""Comparisons, reversals, regressions and the HTML report, whenever a campaign has loaded a run."""

from benchgate.airflow.report_dag import report_dag

dag = report_dag()
