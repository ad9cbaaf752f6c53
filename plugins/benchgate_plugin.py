"""The results pages in the Airflow UI: an entry in the navigation, a tab on every run, a link on every task.

Airflow loads plugins in every process, tasks included, so nothing heavy is imported here.
"""

from airflow.plugins_manager import AirflowPlugin

from benchgate.airflow.pages_link import PageLink
from benchgate.airflow.pages_mount import PagesForTheServer
from benchgate.pages.links import PREFIX, ROUTE, RUN_ROUTE


class BenchgatePlugin(AirflowPlugin):
    """Registers the pages."""

    name = "benchgate"
    fastapi_apps = PagesForTheServer()
    # addresses are relative to Airflow's root, so that they hold behind a proxy with a path
    external_views = [
        {
            "name": "Campaigns",
            "href": f"{PREFIX[1:]}/",
            "destination": "nav",
            "url_route": ROUTE,
            "nav_top_level": True,
        },
        {
            "name": "Campaign run",
            "href": f"{PREFIX[1:]}/run/{{DAG_ID}}/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": RUN_ROUTE,
        },
    ]
    operator_extra_links = [PageLink()]
