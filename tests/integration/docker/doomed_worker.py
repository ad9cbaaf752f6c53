"""A worker that goes through a whole launch and says where it is, so that a test can kill it there.

Arguments: host name, campaign, run, output folder. Every line on stdout is a moment; the worker then waits a little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgate.errors import HostError
from benchgate.hosts import docker_client, docker_containers, docker_direct
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.spec.hosts import HostSpec
from tests.support import base_image

PAUSE_S = 0.25


def moment(name: str) -> None:
    """Say where we are, and stay there long enough to be killed there."""
    print(name, flush=True)
    time.sleep(PAUSE_S)


def tell(module: Any, function: str, before: str | None, after: str | None) -> None:
    """Wrap a function of the library, so that its beginning and end are moments."""
    real: Callable[..., Any] = getattr(module, function)

    def told(*args: Any, **kwargs: Any) -> Any:
        if before:
            moment(before)
        result = real(*args, **kwargs)
        if after:
            moment(after)
        return result

    setattr(module, function, told)


def main(name: str, campaign: str, run: str, output: str) -> None:
    """One launch from preflight to stop."""
    spec = HostSpec.model_validate(
        {
            "docker_url": "unix:///var/run/docker.sock",
            "client_image": base_image.TEST_CLIENT,
            "placements": {"a": {}},
        }
    )
    host = DockerHost(name, spec)
    server = ServerSpec(
        campaign=campaign, run=run, arm="marlin", placement="a", argv=["serve", "8000"], env={}, port=8000,
        image=base_image.TEST_SERVER, shm_size_gib=None,
    )  # fmt: skip
    docker_direct.INTERFACES = Path("/nowhere")  # as in a container: requests go through the probe
    tell(docker_containers, "create", "before-create", "created")
    tell(docker_containers, "start", "before-start", "after-start")
    tell(docker_client, "fetch_output", "before-fetch", "fetched")
    tell(docker_containers, "remove", "before-remove", "removed")
    host.preflight(server, run_is_over=lambda _: False)
    handle = host.start(server)
    moment("started")
    while True:
        try:
            host.http_get(handle, "/health")
            break
        except HostError:
            time.sleep(0.1)
    moment("ready")
    host.http_post(handle, "/v1/chat/completions", b"{}")
    moment("asked")
    host.run_client(handle, ["bench", "8000"], Path(output), on_line=moment, timeout_s=60)
    moment("measured")
    host.stop(handle)
    moment("stopped")


if __name__ == "__main__":
    main(*sys.argv[1:5])
