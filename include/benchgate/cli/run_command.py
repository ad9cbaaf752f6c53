"""``python -m benchgate run``: a campaign without Airflow, through the same steps as its DAG."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchgate.cli.options import run_name, whole
from benchgate.errors import BenchgateError

_ENDED_BY = (signal.SIGTERM, signal.SIGHUP)  # `timeout`, a shutdown, a closed terminal: ends of a run like Ctrl-C


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="campaign file")
    add("--no-airflow", action="store_true", help="accepted for clarity: this command never uses Airflow")
    add(
        "--run-id",
        type=run_name,
        metavar="ID",
        help="name of the run; the same name goes on with the same run (default: the time)",
    )
    add("--arms", nargs="+", metavar="ARM", help="plan only these arms")
    add("--workloads", nargs="+", metavar="NAME", help="plan only these workloads")
    add("--users", nargs="+", type=whole(at_least=1), metavar="N", help="plan only these user levels")
    add("--repeats", type=whole(at_least=1), metavar="N", help="measure each cell so often")
    add("--image", help="another tag or digest in place of the campaign's image")
    add("--force", action="store_true", help="measure although all of it was measured on this image")
    add("--launches", nargs="+", metavar="ARM|LAUNCH", help="start only these launches of the planned run")
    add("--no-publish", action="store_true", help="measure only; publish later with --publish-only")
    add("--publish-only", action="store_true", help="gates, warehouse and verdict of a run that was measured before")
    add(
        "--after-cells",
        metavar="COMMAND",
        help="shell command run beside each server after its cells (BASE_URL, MODEL, ARM, RESULT are set)",
    )


def run(args: argparse.Namespace) -> int:
    """0 when every arm ended as the campaign expects."""
    from benchgate import secrets
    from benchgate.spec.load import load_campaign
    from benchgate.steps.driver import DriverOptions, drive

    if args.publish_only and not args.run_id:
        raise BenchgateError("--publish-only needs --run-id", remedy="the name of the run that was measured")
    os.environ.setdefault("BENCHGATE_OWNER_PID", str(os.getpid()))
    found = {}
    for name in load_campaign(args.file).secrets:
        value = os.environ.get(name)
        if not value:
            raise BenchgateError(f"the campaign needs the secret {name}", remedy=f"set {name} in the environment")
        secrets.register(value)
        found[name] = value
    trigger = {name: getattr(args, name) for name in ("arms", "workloads", "users", "repeats", "image", "force")}
    options = DriverOptions(
        launches=tuple(args.launches) if args.launches else None,
        publish=not args.no_publish,
        publish_only=args.publish_only,
        after_cells=args.after_cells,
        secrets=found,
    )
    with _signals_interrupt():
        drive(args.file, args.run_id or time.strftime("%Y%m%dT%H%M%S"), trigger=trigger, options=options, say=_say)
    return 0


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt as Ctrl-C does, so that the run comes to a true end. What is ignored stays so."""

    def interrupt(number: int, _frame: object) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.getsignal(number) for number in _ENDED_BY}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
