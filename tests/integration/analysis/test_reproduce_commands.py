"""The load of reproduce.md, typed as it is printed, measures what the cell measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchgate.report.load import load_report
from benchgate.report.reproduce import to_reproduce
from benchgate.settings import PROJECT_ROOT
from benchgate.steps.reporting import client_commands
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.reference_server import RunningServer, start_reference_server  # noqa: F401
from tests.support.runs import campaign
from tests.support.warehouses import bundle

RUN = "kernels.small"


def test_a_printed_load_runs_against_a_server(
    tmp_path: Path,
    start_reference_server: Callable[..., RunningServer],  # noqa: F811
) -> None:
    url = f"sqlite:///{tmp_path}/warehouse.db"
    migrate(url)
    chat = {"dataset": "synthetic", "prompt_tokens": 64, "users": [2], "requests": 6, "max_tokens": 8}
    spec = campaign(workloads={"chat": chat}, repeats=1)
    load_run(bundle(RUN, spec=spec), url)
    report = load_report(RUN, url)
    server = start_reference_server("--ttft-ms", "20", "--itl-ms", "2")

    load = to_reproduce(report, client_commands(report)).partition("## Load")[2]
    [block] = re.findall(r"^```sh\n(.*?)^```", load, re.DOTALL | re.MULTILINE)
    typed = block.rstrip("\n").replace("http://SERVER", server.base_url) + f" --output {tmp_path}/out"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", typed],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(PROJECT_ROOT / "include")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, f"{typed}\n{done.stdout}\n{done.stderr}"
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["completed"], summary["users"], summary["errors"]) == (6, 2, 0)
