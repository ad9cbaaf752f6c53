"""When servers began and ended on a host, as its Docker Engine tells while it happens."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchgate import names


@dataclass
class Servers:
    """What the engine told of servers under test."""

    started: Counter[str] = field(default_factory=Counter)  # by lease
    most: int = 0  # were up at the same moment

    def read(self, told: str) -> None:
        """Count lines of ``docker events``."""
        up: set[str] = set()
        for line in told.splitlines():
            event = json.loads(line)
            lease = event["Actor"]["Attributes"]["name"]
            if event["Action"] == "start":
                self.started[lease] += 1
                up.add(lease)
            else:
                up.discard(lease)
            self.most = max(self.most, len(up))


@contextmanager
def servers_of(docker_host: str, folder: Path) -> Iterator[Servers]:
    """Listen while the block runs; the result is filled at its end."""
    filters = ["type=container", f"label={names.LABEL_ROLE}=server", "event=start", "event=die"]
    command = ["docker", "-H", docker_host, "events", "--format", "{{json .}}"]
    for one in filters:
        command += ["--filter", one]
    servers, said = Servers(), folder / "events"
    with said.open("wb") as out, subprocess.Popen(command, stdout=out) as listening:
        try:
            yield servers
        finally:
            listening.terminate()
    servers.read(said.read_text())
