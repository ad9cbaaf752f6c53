"""``python -m benchgate demo``: the demo campaign through Airflow on this machine."""

from __future__ import annotations

import argparse
import json

from benchgate.errors import BenchgateError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--campaign", default="demo", help="name of the campaign to run (default: demo)")
    parser.add_argument("--conf", default="{}", help='choices of the trigger as JSON, e.g. \'{"arms": ["threads-1"]}\'')


def run(args: argparse.Namespace) -> int:
    """0 when the run ended as its campaign expects."""
    from benchgate.airflow.demo import run_demo

    try:
        conf = json.loads(args.conf)
    except ValueError as error:
        raise BenchgateError(f"--conf is no JSON: {error}") from None
    if not isinstance(conf, dict):
        raise BenchgateError("--conf must be a JSON object")
    return run_demo(args.campaign, conf)
