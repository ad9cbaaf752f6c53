"""The link from every task of a campaign to its page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink

from benchgate.pages.links import Links


class PageLink(BaseOperatorLink):
    """Leads to the page of the task's cell, launch or run. It needs no result, so it is there while the task runs."""

    name = "Results"

    @property
    def operators(self) -> list[type]:
        """The operators whose tasks carry the link (asked for by the API server when it shows a DAG)."""
        from benchgate.airflow.approvals import ChangedImageApproval, RegressionApproval
        from benchgate.airflow.measure_in_container import MeasureInContainer
        from benchgate.airflow.operators import StepOperator

        return [StepOperator, MeasureInContainer, ChangedImageApproval, RegressionApproval]

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Address of the page, below Airflow's own path."""
        del operator
        root = urlsplit(conf.get("api", "base_url", fallback="/")).path.rstrip("/")
        return Links(root).task_page(ti_key.dag_id, ti_key.run_id, ti_key.task_id)
