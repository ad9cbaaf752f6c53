"""A worker that goes through a whole launch and dies of SIGKILL at one moment of it."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgate.errors import HostError
from benchgate.hosts import docker_client, docker_containers, docker_direct
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.spec.hosts import HostSpec
from tests.support import base_image


class Moments:
    """Counts the moments by name; the chosen one is the last."""

    def __init__(self, last: str, occurrence: int) -> None:
        self.last, self.occurrence = last, occurrence
        self.seen: Counter[str] = Counter()

    def __call__(self, name: str) -> None:
        """We are there."""
        self.seen[name] += 1
        if name == self.last and self.seen[name] == self.occurrence:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, module: Any, function: str, before: str | None, after: str | None) -> None:
        """Wrap a function of the library, so that its beginning and end are moments."""
        real: Callable[..., Any] = getattr(module, function)

        def told(*args: Any, **kwargs: Any) -> Any:
            if before:
                self(before)
            result = real(*args, **kwargs)
            if after:
                self(after)
            return result

        setattr(module, function, told)


def main(name: str, campaign: str, run: str, output: Path, last: str, occurrence: int) -> None:
    """One launch from preflight to stop, in a process of its own: what it wraps stays wrapped."""
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
    moment = Moments(last, occurrence)
    moment.around(docker_containers, "create", "before-create", "created")
    moment.around(docker_containers, "start", "before-start", "after-start")
    moment.around(docker_client, "fetch_output", "before-fetch", "fetched")
    moment.around(docker_containers, "remove", "before-remove", "removed")
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
    host.run_client(handle, ["bench", "8000"], output, on_line=moment, timeout_s=60)
    moment("measured")
    host.stop(handle)
    moment("stopped")
