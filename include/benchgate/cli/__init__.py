"""Command line: ``python -m benchgate COMMAND``. One module a command, imported only when it is asked for.

A command module has ``add_arguments(parser)`` and ``run(args) -> int`` (the exit code).
"""

from __future__ import annotations

import argparse
import errno
import importlib
import signal
import sys
from typing import NoReturn

from benchgate import __version__
from benchgate.errors import BenchgateError

COMMANDS = {
    "check": "validate campaign and host files",
    "plan": "print the ledger of a campaign: every launch and cell before anything runs",
    "command": "print the docker run that an arm of a campaign equals",
    "hosts": "show each host: reachable, engine, GPUs, memory, images, what is left over",
    "seed": "fetch and verify what a campaign's servers need",
    "run": "run a campaign without Airflow, through the same steps as the DAG",
    "bench": "measure a server that is already running",
    "needle": "run the needle check against a server that is already running",
    "prove": "read a server log: proofs, warnings, failure kind",
    "import": "load result files of other benchmark clients",
    "warehouse": "create, migrate and inspect the warehouse",
    "report": "write a campaign run as HTML, Markdown, CSV, Parquet or reproduce.md",
    "housekeeping": "remove what runs that are over have left, finish killed ones, drop expired artifacts",
    "demo": "run the demo campaign through Airflow on this machine",
}


_NOT_OURS = "give this user the right to it, or set BENCHGATE_HOME to another folder"
_REMEDIES = {
    errno.EACCES: _NOT_OURS,
    errno.EPERM: _NOT_OURS,
    errno.EROFS: _NOT_OURS,
    errno.ENOTDIR: "is BENCHGATE_HOME a folder?",
    errno.ENOSPC: "make room, and do it again",
    errno.EDQUOT: "make room, and do it again",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage, which can fill a screen, is for those who ask."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def main(argv: list[str] | None = None) -> int:
    """Run one command. A user's mistake prints its message and returns 1; never a traceback."""
    argv = sys.argv[1:] if argv is None else argv
    parser = _Parser(prog="benchgate", description="LLM-serving benchmark campaigns that only publish what was proven.")
    parser.add_argument("--version", action="version", version=f"benchgate {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, help_text in COMMANDS.items():
        sub = subparsers.add_parser(name, help=help_text, description=help_text)
        if argv and argv[0] == name:
            importlib.import_module(f"benchgate.cli.{name}_command").add_arguments(sub)
    args = parser.parse_args(argv)
    try:
        return int(importlib.import_module(f"benchgate.cli.{args.command}_command").run(args))
    except BenchgateError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # `benchgate plan FILE | head`
        sys.stderr.close()
        return 0
    except KeyboardInterrupt as interruption:
        name = interruption.args[0] if interruption.args else "SIGINT"
        print(f"interrupted by {name}" if interruption.args else "interrupted", file=sys.stderr)
        return 128 + getattr(signal, str(name), signal.SIGINT)
    except OSError as error:  # a file that a command reads or writes: a full disk, a folder of somebody else
        where = f"{error.filename}: " if error.filename else ""
        remedy = f" ({_REMEDIES[error.errno]})" if error.errno in _REMEDIES else ""
        print(f"error: {where}{error.strerror or error}{remedy}", file=sys.stderr)
        return 1
