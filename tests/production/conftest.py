"""The production tests: only ``make test-production`` runs them (half an hour, and they start a whole stack)."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from images import build as images
from tests.production import night as nights
from tests.production.stack import PROJECT, ROOT, Stack, campaign
from tests.support import base_image
from tests.support.docker_engine import SecondEngine, second_engine

if os.environ.get("BENCHGATE_TEST_PRODUCTION") != "1":
    collect_ignore_glob = ["test_*.py"]

LOCAL = "unix:///var/run/docker.sock"
ENGINE = "benchgate-test/simulated:1"
CLIENT = "benchgate-test/real-client:1"
ARMS = 20  # placements of the site


@pytest.fixture(scope="session")
def gpu_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondEngine]:
    """A Docker Engine at another address, over TLS, with the engine's and the client's image."""
    local = DockerEngine("local", EngineConnection(LOCAL))
    base_image.ensure_base_image(LOCAL)
    source = (Path(__file__).parent / "simulated_engine.py").read_text()
    dockerfile = f"""
        FROM {base_image.PYBASE}
        LABEL io.benchgate.engine.version=simulated
        COPY server.py /server.py
        USER 10001
        ENTRYPOINT ["python3", "/server.py"]
        """
    base_image.build(local.api, ENGINE, dockerfile, {"server.py": source})
    list(images.build(local.api_with_timeout(600), "client", tag=CLIENT, base=base_image.PYBASE))
    with second_engine(tmp_path_factory.mktemp("gpu-host")) as running:
        far = DockerEngine("far", running.connection())
        for tag in (ENGINE, CLIENT):
            base_image.copy_image(local.api_with_timeout(300), far.api_with_timeout(300), tag)
        far.close()
        yield running
    local.close()


@pytest.fixture(scope="session")
def far(gpu_host: SecondEngine) -> Iterator[DockerEngine]:
    """That host, to look at."""
    engine = DockerEngine("far", EngineConnection(gpu_host.unix_url))
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def stack(gpu_host: SecondEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, started from a clean clone; taken down with its volumes at the end."""
    site = tmp_path_factory.mktemp("site")
    site.chmod(0o755)
    for parent in site.parents:
        if parent.is_relative_to(tmp_path_factory.getbasetemp()):
            parent.chmod(0o755)
    clone = site / "clone"
    # from a copy, so that what is committed here meanwhile is no upgrade
    subprocess.run(["git", "clone", "-q", "--bare", str(ROOT), str(site / "origin.git")], check=True)
    subprocess.run(["git", "clone", "-q", str(site / "origin.git"), str(clone)], check=True)
    base = subprocess.run([ROOT / ".ci/stand-ins/build"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[
        -1
    ]
    if (ROOT / "build/wheels").is_dir():
        (clone / "build").mkdir()
        subprocess.run(["cp", "-rl", ROOT / "build/wheels", clone / "build/wheels"], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = Stack(clone, port, site)
    host = {
        "docker_url": gpu_host.tls_url,
        "tls": {name: f"/etc/benchgate/tls/{name}.pem" for name in ("ca", "cert", "key")},
        "client_image": CLIENT,
        "queue": "site-a",
        "placements": {f"p{number}": {"port": 8000 + number} for number in range(ARMS)},
    }
    made.prepare(base, gpu_host.tls, {"gpu-a": host})
    try:
        made.compose("build", timeout_s=1800)
        made.compose("up", "-d", "--wait", "--no-build", timeout_s=600)
        yield made
    finally:
        if os.environ.get("BENCHGATE_KEEP_STACK") != "1":
            made.compose("down", "-v", "--remove-orphans", check=False)
            assert (
                PROJECT not in subprocess.run(["docker", "ps", "-a"], capture_output=True, text=True, check=True).stdout
            )


@pytest.fixture
def add_campaign(stack: Stack) -> Callable[..., str]:
    """Put a campaign of the simulated engine where the stack reads them."""

    def add(name: str, arms: dict[str, Any], **changes: Any) -> str:
        sha256 = hashlib.sha256((stack.site / "model" / "weights.gguf").read_bytes()).hexdigest()
        text = json.dumps(campaign(name, arms, ENGINE, sha256, **changes))
        (stack.site / "campaigns" / f"{name}.yaml").write_text(text)
        return name

    return add


@pytest.fixture
def night(stack: Stack, far: DockerEngine, add_campaign: Callable[..., str]) -> Iterator[nights.Night]:
    """A campaign of this test alone."""
    name = add_campaign(
        f"fault-{uuid.uuid4().hex[:6]}",
        {arm: {"placement": f"gpu-a/p{number}", "args": {"itl-ms": 80}} for number, arm in enumerate(nights.ARMS)},
        repeats=2,
        workloads={"chat": nights.WORKLOAD},
    )
    yield nights.Night(stack, far, name)
    (stack.site / "campaigns" / f"{name}.yaml").unlink()
