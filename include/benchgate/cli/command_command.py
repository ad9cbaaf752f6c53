"""``python -m benchgate command``: the ``docker run`` that an arm equals. Stdout holds the command and nothing else."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchgate.by_hand import ProcessCommand, command_of
from benchgate.cli.plan_command import inventory_for_plan
from benchgate.errors import BenchgateError
from benchgate.spec.load import load_campaign


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``command``."""
    parser.add_argument("file", type=Path, metavar="FILE", help="campaign file")
    parser.add_argument("--arm", required=True, help="the arm")
    parser.add_argument("--placement", metavar="HOST/PLACEMENT", help="where it runs; default: where the arm is placed")
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the inventory (default: include/hosts.yaml)")


def run(args: argparse.Namespace) -> int:
    """Print the command; what Benchgate adds when it starts the server itself goes to stderr."""
    inventory = inventory_for_plan(args.hosts)
    if inventory is None:
        raise BenchgateError(
            "a command needs the inventory: GPUs, ports and paths are there", remedy="give --hosts FILE"
        )
    campaign = load_campaign(args.file, inventory)
    command = command_of(campaign, inventory, args.arm, args.placement)
    print(command.shell())
    if isinstance(command, ProcessCommand):
        added = "a lease on the placement and offline variables"
    else:
        added = "a name (the lease), labels, offline variables and a network without a way out; it never adds --rm"
    print(f"# started by Benchgate, the same server also gets {added}", file=sys.stderr)
    if campaign.secrets:
        print(f"# the shell must hold {', '.join(campaign.secrets)} (export)", file=sys.stderr)
    if any(word.startswith("benchgate-") for word in command.argv):
        print("# volumes named benchgate-.. are filled by the first run on their host", file=sys.stderr)
    return 0
