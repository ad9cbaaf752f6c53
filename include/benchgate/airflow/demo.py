"""``benchgate demo``: the demo campaign through Airflow on this machine, watched on the terminal.

The DAG run is a child process. The servers it starts belong to *this* process: when it ends, however it ends, they end.
In containers (``--docker``) tasks run at the same time, and a guard sees to it that a killed demo leaves none.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchgate import settings
from benchgate.airflow import local
from benchgate.airflow.demo_guard import Guard, end_session
from benchgate.artifacts import all_runs
from benchgate.errors import ArtifactError, BenchgateError, DamagedArtifact
from benchgate.hosts import process_child
from benchgate.records import RunRecord
from benchgate.steps.context import CampaignRun, owner_of_this_run
from benchgate.steps.leftovers import remove_leftovers
from benchgate.steps.progress import look

_TICK_S = 0.5


def run_demo(dag_id: str, conf: dict[str, object], *, docker: bool = False) -> int:
    """Run a campaign once and print what came of it. Returns the exit status for the shell.

    Args:
        dag_id: name of the campaign.
        conf: what a person would choose in the trigger form.
        docker: its hosts are Docker Engines; build the images that their servers need, and run lanes at the same time.

    Raises:
        BenchgateError: Airflow could not run it; with the log that tells why.
    """
    os.environ["BENCHGATE_OWNER_PID"] = str(os.getpid())
    os.environ.setdefault("BENCHGATE_HOME", str(settings.home()))
    hosts: list[str] | None = None
    if docker:
        from benchgate.airflow.demo_docker import prepare

        hosts = prepare(dag_id, _print)
    kinds = ("docker",) if docker else ("process",)
    for removed in remove_leftovers(kinds=kinds, hosts=hosts):
        _print(f"removed what an earlier run left: {removed}")
    if not (local.airflow_home() / "airflow.db").exists():
        _print("preparing Airflow's database (once) ..")
    local.prepare_database()
    log_file = settings.home() / "logs" / f"{dag_id}-{time.strftime('%Y%m%dT%H%M%S')}.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    _print(f"running campaign {dag_id} through Airflow; its log: {log_file}")
    try:
        run, returncode = _run(dag_id, conf, log_file, hosts)
    except KeyboardInterrupt:
        _print("stopping; what was measured is kept, and `benchgate housekeeping` gives the run its end")
        raise
    finally:
        for removed in remove_leftovers(everything_of_this_process=True, kinds=kinds, hosts=hosts):
            _print(f"stopped {removed}")
    if run is None:
        tail = "\n".join(log_file.read_text(errors="replace").splitlines()[-15:])
        raise BenchgateError(f"Airflow did not run {dag_id}:\n{tail}", remedy=f"see {log_file}")
    return _tell(run, returncode)


def _run(
    dag_id: str, conf: dict[str, object], log_file: Path, hosts: list[str] | None
) -> tuple[CampaignRun | None, int]:
    """The DAG run as a child: the run that it planned, and its exit status. ``hosts``: Docker hosts that are used."""
    command = [sys.executable, "-m", "benchgate.airflow.run_once", dag_id, json.dumps(conf)]
    if hosts is not None:
        command.insert(3, "--parallel")
    with log_file.open("wb") as log:
        guard = Guard(hosts, log.fileno()) if hosts is not None else None
        child = subprocess.Popen(
            [sys.executable, process_child.__file__, str(os.getpid()), "-", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **local.environment()},
            start_new_session=True,
        )
        if guard is not None:
            guard.watch(child.pid)
        try:
            run = _watch(child)
        except BaseException:
            _end(child)
            if hosts is not None:
                end_session(child.pid)  # its tasks have process groups of their own
            raise  # a guard stays until this process has ended: a second Ctrl-C must not leave anything either
    if guard is not None:
        guard.close()
    return run, child.returncode


def _watch(child: subprocess.Popen[bytes]) -> CampaignRun | None:
    """Show progress until the DAG run ends. None when it never planned a run."""
    run: CampaignRun | None = None
    began = time.monotonic()
    shown = ""
    first_cell: tuple[float, int] | None = None
    while child.poll() is None:
        time.sleep(_TICK_S)
        try:
            run = run or _find_run()
            if run is None:
                continue
            progress = look(run)
        except ArtifactError:
            continue  # a store that does not answer to a look: the run itself goes on, and tells if it cannot
        elapsed = time.monotonic() - began
        if progress.done and first_cell is None:
            first_cell = (elapsed, progress.done)
        left = ""
        if first_cell and progress.done > first_cell[1]:
            pace = (elapsed - first_cell[0]) / (progress.done - first_cell[1])
            left = f", about {_minutes(pace * (progress.planned - progress.done))} left"
        line = f"[{progress.share:4.0%}] {_minutes(elapsed)}{left}  {progress.now}"
        if sys.stdout.isatty():
            sys.stdout.write(f"\r{line[: _width()]}\033[K")
            sys.stdout.flush()
        elif progress.now.split(":")[:2] != shown.split(":")[:2]:
            _print(line)
        shown = progress.now
    if sys.stdout.isatty():
        sys.stdout.write("\r\033[K")
    return run or _find_run()


def _tell(run: CampaignRun, returncode: int) -> int:
    """Print the comparison, what was published, what was not and why, and where everything is."""
    from benchgate.report.terminal import run_summary
    from benchgate.steps.reporting import report_run

    report_run(run.run, settings.warehouse_url())
    _print(run_summary(run.run, settings.warehouse_url()))
    _print("")
    _print(f"report      {run.store.path('report.html')}")
    _print(f"warehouse   {settings.warehouse_url()}")
    _print(f"artifacts   {run.store.root}")
    _print("Airflow UI  make ui   (prints the address and the login)")
    return 0 if returncode == 0 else 1


def _find_run() -> CampaignRun | None:
    """The run that this process owns, once it is planned."""
    owner = owner_of_this_run()
    for store in all_runs():
        try:
            record = store.read(store.path("run.json"), RunRecord)
        except DamagedArtifact:
            continue
        if record is not None and record.owner == owner:
            return CampaignRun(record.run)
    return None


def _end(child: subprocess.Popen[bytes]) -> None:
    for number, patience in ((signal.SIGINT, 5.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        if child.poll() is not None:
            return
        os.killpg(child.pid, number)
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _width() -> int:
    try:
        return os.get_terminal_size().columns - 1
    except OSError:
        return 100


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
