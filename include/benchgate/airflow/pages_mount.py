"""When the pages are built: as soon as the API server asks the plugin for its applications, and in no other process."""

from __future__ import annotations

import logging
from typing import Any

from benchgate.pages.links import PREFIX

log = logging.getLogger("benchgate")


class PagesForTheServer:
    """The plugin's ``fastapi_apps``, made when they are read.

    Scheduler, DAG processor and every task load the plugin, too, and never read them: they must not pay for a web
    framework. Pages that cannot be built must not keep Airflow from starting.
    """

    def __init__(self) -> None:
        self._apps: list[dict[str, Any]] | None = None

    def __get__(self, plugin: object, owner: type) -> list[dict[str, Any]]:
        if self._apps is None:
            try:
                from benchgate.airflow.pages_app import create_app

                self._apps = [{"app": create_app(), "url_prefix": PREFIX, "name": "Benchgate pages"}]
            except Exception:
                log.exception("the results pages cannot be built, so Airflow goes on without them")
                self._apps = []
        return self._apps
