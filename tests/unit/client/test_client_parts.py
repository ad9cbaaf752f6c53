"""What is copied into the client image is enough for the load generator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from images.context import copy
from images.inputs import CLIENT_PARTS, PACKAGE


def test_the_copied_parts_import_nothing_that_is_not_copied(tmp_path: Path) -> None:
    for part in CLIENT_PARTS:
        copy(PACKAGE / part, tmp_path / "benchgate" / part)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    imports = "import benchgate.client.bench, benchgate.client.prepare, benchgate.metrics.summary"

    asked = subprocess.run(
        [sys.executable, "-m", "benchgate", "bench", "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    imported = subprocess.run(
        [sys.executable, "-c", f"{imports}; print(benchgate.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked.returncode == 0, asked.stderr
    assert imported.stdout.strip() == str(tmp_path / "benchgate" / "__init__.py"), imported.stderr
