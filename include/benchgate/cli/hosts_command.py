"""``benchgate hosts``: each host of the inventory, as it is now."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchgate import settings
from benchgate.errors import BenchgateError
from benchgate.hosts.report import HostReport, report_hosts
from benchgate.spec.load import load_inventory
from benchgate.steps.leftovers import recorded_as_over

COLUMNS = ("HOST", "KIND", "REACHABLE", "ENGINE", "GPUS", "DRIVER", "FREE MEMORY", "IMAGES", "HELD", "STALE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``benchgate hosts``."""
    parser.add_argument("name", nargs="*", metavar="HOST", help="only these (default: every host of the inventory)")
    parser.add_argument("--json", action="store_true", help="everything that is known, as JSON")
    parser.add_argument("--images", action="store_true", help="list the images of each host")
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the inventory (default: include/hosts.yaml)")


def run(args: argparse.Namespace) -> int:
    """Ask the hosts; 1 when one cannot be used."""
    inventory = load_inventory(args.hosts or settings.hosts_file())
    unknown = [name for name in args.name if name not in inventory.hosts]
    if unknown:
        raise BenchgateError(
            f"there is no host {', '.join(unknown)} in the inventory", remedy=f"hosts are: {', '.join(inventory.hosts)}"
        )
    reports = report_hosts(inventory, args.name or list(inventory.hosts), run_is_over=recorded_as_over)
    if args.json:
        print(json.dumps([as_json(report) for report in reports], indent=1))
    else:
        print("\n".join(table([row(report) for report in reports])))
        for line in details(reports, images=args.images):
            print(line)
    unusable = [report.name for report in reports if not report.reachable]
    if unusable and not args.json:
        print(f"{len(unusable)} of {len(reports)} hosts cannot be used: {', '.join(unusable)}", file=sys.stderr)
    return 1 if unusable else 0


def as_json(report: HostReport) -> dict[str, Any]:
    """One host; what is unknown is null."""
    return {**asdict(report), "facts": report.facts.model_dump() if report.facts else None}


def row(report: HostReport) -> list[str]:
    """One host in the order of :data:`COLUMNS`; what is unknown is a dash."""
    facts = report.facts
    if facts is None:
        return [report.name, report.kind, "NO", *["-"] * (len(COLUMNS) - 3)]
    docker = report.kind == "docker"
    gpus = "-" if facts.gpu_count is None else f"{facts.gpu_count} x {facts.gpu_model or 'unknown'}"
    free = "-" if facts.free_memory_gib is None else f"{facts.free_memory_gib:.1f}"
    total = "" if facts.memory_gib is None else f" of {facts.memory_gib:.1f}"
    return [
        report.name,
        report.kind,
        "yes",
        facts.engine_version or "-",
        gpus,
        facts.driver or "-",
        f"{free}{total} GiB",
        str(len(report.images)) if docker else "-",
        str(len(report.leases)) if docker else "-",
        str(len(report.stale)) if docker else "-",
    ]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with aligned columns."""
    everything = [COLUMNS, *rows]
    widths = [max(len(line[column]) for line in everything) for column in range(len(COLUMNS))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in everything
    ]


def details(reports: Sequence[HostReport], *, images: bool) -> list[str]:
    """What does not fit in a row: why a host cannot be used, who holds placements, what is stale."""
    lines: list[str] = []
    for report in reports:
        if report.problem:
            lines.append(f"{report.name}: {report.problem}")
        if report.client_image is False:
            build = f"python include/images/build.py client --host {report.name}"
            lines.append(f"{report.name}: the client image is missing: {build}")
        lines += [f"{report.name}: held {lease}" for lease in report.leases]
        lines += [f"{report.name}: stale {stale} (benchgate housekeeping removes it)" for stale in report.stale]
        lines += [f"{report.name}: image {image}" for image in report.images if images]
    return lines
