"""The one place that builds addresses: of the pages, and of what they point at inside Airflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

PREFIX = "/benchgate"  # where the pages are mounted under Airflow's root
ROUTE = "benchgate"  # Airflow's own address of the pages: /plugin/benchgate and .../runs/RUN/plugin/benchgate-run
RUN_ROUTE = "benchgate-run"


def _part(text: str) -> str:
    return quote(text, safe="")


def _key(text: str) -> str:
    """A launch or cell key: its slashes and at signs stay readable."""
    return quote(text, safe="@/")


@dataclass(frozen=True)
class Links:
    """Addresses under one Airflow. ``root`` is Airflow's path: empty, or for example ``/airflow`` behind a proxy."""

    root: str = ""

    @property
    def home(self) -> str:
        """The pages' own root."""
        return f"{self.root}{PREFIX}"

    def page(self, name: str, **query: object) -> str:
        """One of the pages without a subject: ``""`` (campaigns), compare, did-not-run, hosts."""
        return _with_query(f"{self.home}/{name}", query)

    def asset(self, name: str, version: str) -> str:
        """Style sheet or script; the version lets a browser keep it."""
        return _with_query(f"{self.home}/assets/{name}", {"v": version})

    def campaign(self, campaign: str, **query: object) -> str:
        """A campaign's nights."""
        return _with_query(f"{self.home}/campaign/{_part(campaign)}", query)

    def run(self, campaign: str, run_id: str, **query: object) -> str:
        """A campaign run; ``run_id`` is Airflow's."""
        return _with_query(f"{self.home}/run/{_part(campaign)}/{_part(run_id)}", query)

    def cell(self, campaign: str, run_id: str, cell: str) -> str:
        """One planned cell."""
        return f"{self.run(campaign, run_id)}/cell/{_key(cell)}"

    def launch(self, campaign: str, run_id: str, launch: str) -> str:
        """One launch."""
        return f"{self.run(campaign, run_id)}/launch/{_key(launch)}"

    def log(self, campaign: str, run_id: str, launch: str, **query: object) -> str:
        """The server log of a launch. ``line`` leads to the page that holds it, with the line marked."""
        line = query.get("line")
        address = _with_query(f"{self.run(campaign, run_id)}/log/{_key(launch)}", query)
        return f"{address}#L{line}" if line is not None else address

    def task_page(self, campaign: str, run_id: str, task_id: str) -> str:
        """The page of whatever a task is about, inside Airflow's own frame."""
        inner = f"{PREFIX}/run/{_part(campaign)}/{_part(run_id)}/task/{_part(task_id)}"
        return f"{self.root}/plugin/{ROUTE}{self.root}{inner}"

    def dag(self, campaign: str) -> str:
        """The DAG in Airflow."""
        return f"{self.root}/dags/{_part(campaign)}"

    def dag_run(self, campaign: str, run_id: str) -> str:
        """The DAG run in Airflow."""
        return f"{self.dag(campaign)}/runs/{_part(run_id)}"

    def task(self, campaign: str, run_id: str, task_id: str) -> str:
        """The task instance in Airflow; it opens with the task log."""
        return f"{self.dag_run(campaign, run_id)}/tasks/{_part(task_id)}"

    def required_actions(self, campaign: str, run_id: str) -> str:
        """Where Airflow asks for the approvals of a run."""
        return f"{self.dag_run(campaign, run_id)}/required_actions"

    def api(self, page: str) -> str:
        """The JSON of a page, by the page's own address."""
        path = page.split("#")[0]
        return f"{self.home}/api{path[len(self.home) :]}" if path.startswith(self.home) else path


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None and value != ""}
    return f"{path}?{urlencode(given)}" if given else path
