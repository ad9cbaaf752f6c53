"""``python -m benchgate demo``: the demo campaign through Airflow on this machine."""

from __future__ import annotations

import argparse
import json

from benchgate.errors import BenchgateError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--campaign", help="name of the campaign to run (default: demo, or demo-docker with --docker)")
    parser.add_argument(
        "--docker",
        action="store_true",
        help="in containers of a Docker Engine, two arms at once; builds the images that it needs",
    )
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
    if args.docker:
        # whoever asks for the demo wants to see it run, also when this image was measured before
        return run_demo(args.campaign or "demo-docker", {"force": True, **conf}, docker=True)
    return run_demo(args.campaign or "demo", conf)
