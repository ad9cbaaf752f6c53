"""What production installs: the same versions as everywhere, hashed, without test tools, and able to work together."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_PIN = re.compile(
    r"^([A-Za-z0-9_.-]+)==(\S+)(?: ; [^\\\n]+)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def pins(path: str) -> dict[tuple[str, str], set[str]]:
    text = (ROOT / path).read_text()
    return {(name, version): set(re.findall(r"sha256:\w+", hashes)) for name, version, hashes in _PIN.findall(text)}


def test_the_image_installs_what_the_lock_has_and_the_login_in_the_same_versions() -> None:
    everywhere, image = pins("requirements.txt"), pins("include/images/airflow/requirements.txt")
    versions = dict(everywhere.keys())

    shared = {pin: hashes for pin, hashes in image.items() if pin[0] in versions}
    alone = {name for name, _ in image} - versions.keys()

    assert len(shared) > 150
    assert {pin: hashes for pin, hashes in shared.items() if everywhere.get(pin) != hashes} == {}
    assert "apache-airflow-providers-fab" in alone
    assert len(alone) < 30  # the login and what it needs: the extra "login" of pyproject.toml
    assert not {name for name, _ in image} & {"pytest", "mypy", "ruff", "playwright", "hypothesis"}


def test_the_locked_executor_can_be_imported() -> None:
    """Scheduler and worker of the compose stack die at once when it cannot."""
    command = "from airflow.providers.celery.executors.celery_executor import CeleryExecutor"

    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-2000:]
