"""Debian's docker-registry on a loopback port: a real registry to push to, pull from, and take away."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CONFIG = """\
version: 0.1
log: {{level: warn}}
storage:
  filesystem: {{rootdirectory: {data}}}
  delete: {{enabled: true}}
http: {{addr: {address}}}
{auth}"""


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


@dataclass
class Registry:
    """A running registry."""

    address: str  # host:port, which is also how images are named
    process: subprocess.Popen[bytes]

    def push(self, api: Any, local: str, repository: str, tag: str, auth: dict[str, str] | None = None) -> str:
        """Push a local image under another name and return its digest."""
        name = f"{self.address}/{repository}"
        api.tag(local, name, tag)
        digest = None
        for event in api.push(name, tag=tag, stream=True, decode=True, auth_config=auth):
            assert "error" not in event, event
            digest = (event.get("aux") or {}).get("Digest") or digest
        assert digest
        return digest

    def retag(self, repository: str, old: str, new: str) -> None:
        """Let another tag mean the same image; no engine is involved."""
        kind = "application/vnd.docker.distribution.manifest.v2+json"
        base = f"http://{self.address}/v2/{repository}/manifests"
        with urllib.request.urlopen(urllib.request.Request(f"{base}/{old}", headers={"Accept": kind})) as reply:
            manifest = reply.read()
        request = urllib.request.Request(f"{base}/{new}", manifest, {"Content-Type": kind}, method="PUT")
        urllib.request.urlopen(request).close()

    def stop(self) -> None:
        """Take the registry away; pulls from it now fail."""
        self.process.terminate()
        self.process.wait(10)


@contextmanager
def running_registry(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    bind: str | None = None,
    login: tuple[str, str] | None = None,
    port: int | None = None,
) -> Iterator[Registry]:
    """A registry that keeps its data in ``folder``; with ``login`` only that user may use it.

    It listens on ``bind`` (default: ``host``), and is named and asked by ``host``.
    """
    address = f"{host}:{port or free_port(host)}"
    auth = ""
    if login:
        import bcrypt

        hashed = bcrypt.hashpw(login[1].encode(), bcrypt.gensalt(4, prefix=b"2a")).decode()
        (folder / "htpasswd").write_text(f"{login[0]}:{hashed}\n")
        auth = f"auth: {{htpasswd: {{realm: test, path: {folder / 'htpasswd'}}}}}\n"
    config = folder / "registry.yml"
    config.write_text(
        _CONFIG.format(data=folder / "data", address=f"{bind or host}:{address.rpartition(':')[2]}", auth=auth)
    )
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log)
    try:
        for _ in range(100):
            assert process.poll() is None, (folder / "registry.log").read_text()
            try:
                urllib.request.urlopen(f"http://{address}/v2/", timeout=1)
                break
            except urllib.error.HTTPError:  # it asks for a login: it is there
                break
            except OSError:
                time.sleep(0.1)
        yield Registry(address, process)
    finally:
        process.kill()
        process.wait(10)
