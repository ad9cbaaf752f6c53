"""Health checks of the containers, each below a second: ``airflow jobs check`` imports all of Airflow every time.

``healthy.py COMPONENT``: api-server, scheduler, dag-processor, triggerer or worker. Exit status 0 when it is healthy;
else 1 and a line that says why, which `docker inspect` shows.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import urllib.request
from typing import Any

TIMEOUT_S = 8.0
API_SERVER = "http://127.0.0.1:8080"
SCHEDULER = "http://127.0.0.1:8974/health"  # AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK


def monitor(base: str) -> dict[str, Any]:
    """What the API server says about every component, from their heartbeats."""
    with urllib.request.urlopen(f"{base}/api/v2/monitor/health", timeout=TIMEOUT_S) as reply:  # noqa: S310
        answer = json.load(reply)
    return answer if isinstance(answer, dict) else {}


def why_unhealthy(answer: dict[str, Any], component: str) -> str | None:
    """None when ``component`` (as the API server names it) is healthy; otherwise why not."""
    state = answer.get(component) or {}
    if state.get("status") == "healthy":
        return None
    beat = next((value for key, value in state.items() if key.startswith("latest_")), None)
    return f"{component} is {state.get('status') or 'unknown'}, its last heartbeat was {beat or 'never'}"


def check(component: str) -> str | None:
    """Why a component is not healthy; None when it is."""
    if component == "api-server":
        return why_unhealthy(monitor(API_SERVER), "metadatabase")
    if component == "scheduler":
        with urllib.request.urlopen(SCHEDULER, timeout=TIMEOUT_S):  # another status than 200 raises
            return None
    if component == "worker":
        return _worker()
    base = os.environ["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"].removesuffix("/execution/")
    return why_unhealthy(monitor(base), component.replace("-", "_"))


def _worker() -> str | None:
    """Ask this worker over the broker, as the executor would reach it."""
    from celery import Celery

    name = f"celery@{socket.gethostname()}"
    app = Celery(broker=os.environ["AIRFLOW__CELERY__BROKER_URL"])
    answered = app.control.inspect(destination=[name], timeout=TIMEOUT_S).ping()
    return None if answered else f"{name} does not answer over the broker"


def main(arguments: list[str]) -> int:
    """0 when healthy."""
    try:
        reason = check(arguments[0])
    except Exception as error:  # noqa: BLE001  whatever it is, the container is not healthy
        reason = f"{arguments[0]}: {type(error).__name__}: {error}"
    if reason:
        sys.stdout.write(f"{reason}\n")
    return 1 if reason else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
