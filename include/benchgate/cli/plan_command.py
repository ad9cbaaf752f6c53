"""``python -m benchgate plan``: the ledger of a campaign, before anything runs."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from benchgate import settings
from benchgate.cli.options import run_name, whole
from benchgate.errors import SpecError
from benchgate.plan import Lane, Selection, build_ledger, launch_order
from benchgate.records import Ledger
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import Inventory
from benchgate.spec.load import load_campaign, load_inventory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``plan``."""
    parser.add_argument("file", type=Path, metavar="FILE", help="campaign file")
    parser.add_argument("--json", action="store_true", help="the ledger as JSON")
    parser.add_argument("--arms", nargs="+", action="extend", metavar="ARM", help="only these arms")
    parser.add_argument("--workloads", nargs="+", action="extend", metavar="WORKLOAD", help="only these workloads")
    parser.add_argument("--users", nargs="+", action="extend", metavar="N", help="only these numbers of users")
    parser.add_argument("--repeats", type=whole(), metavar="N", help="instead of the campaign's repeats")
    parser.add_argument("--run", type=run_name, default="plan", metavar="ID", help="run id written into the ledger")
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the inventory (default: include/hosts.yaml)")


def run(args: argparse.Namespace) -> int:
    """Print the ledger."""
    inventory = inventory_for_plan(args.hosts)
    campaign = load_campaign(args.file, inventory)
    selection = Selection(
        arms=_split(args.arms),
        workloads=_split(args.workloads),
        users=_split(args.users),  # type: ignore[arg-type]  # numbers as text, which it reads
        repeats=args.repeats,
    )
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    ledger = build_ledger(campaign, args.run, created, selection=selection)
    if args.json:
        print(ledger.model_dump_json(indent=1))
    else:
        print("\n".join(as_table(campaign, ledger, launch_order(ledger, inventory))))
    return 0


def inventory_for_plan(chosen: Path | None) -> Inventory | None:
    """The inventory, or None with a note when there is none at the default place: a plan needs no host."""
    file = chosen or settings.hosts_file()
    if chosen is None and not file.exists():
        print(f"note: there is no inventory at {file}, so placements are not checked", file=sys.stderr)
        return None
    try:
        return load_inventory(file)
    except SpecError:
        if chosen is None:
            print(f"the inventory {file} cannot be used; `python -m benchgate check {file}` says all", file=sys.stderr)
        raise


def as_table(campaign: CampaignSpec, ledger: Ledger, lanes: list[Lane]) -> list[str]:
    """The ledger as aligned lines: launches in their order, then every cell."""
    lines = [
        f"campaign {ledger.campaign}: {len(ledger.launches)} launches, {len(ledger.cells)} cells"
        + (f", {len(ledger.deselected)} not asked for" if ledger.deselected else ""),
        "",
        "launches, each lane one after another and all lanes at once:",
    ]
    expected = {launch.launch: launch.expect for launch in ledger.launches}
    for lane in lanes:
        lines.append(f"  {' + '.join(lane.placements)}")
        for number, key in enumerate(lane.launches, 1):
            note = "" if expected[key] == "published" else f"  (expected: {expected[key]})"
            lines.append(f"    {number}. {key}{note}")
    rows = [["arm", "placement", "workload", "load", "repeat", "prompt tokens", "max tokens", "requests"]]
    for cell in ledger.cells:
        spec = campaign.workloads[cell.workload]
        requests = spec.requests_at(cell.users)
        rows.append(
            [
                cell.arm,
                f"{cell.host}/{cell.placement}",
                cell.workload,
                _load_in_words(cell.users, cell.request_rate),
                str(cell.repeat),
                spec.dataset if spec.prompt_tokens is None else str(spec.prompt_tokens),
                str(spec.max_tokens),
                f"for {spec.max_seconds:g} s" if requests is None else str(requests),
            ]
        )
    lines += ["", "cells:", *_aligned(rows)]
    if ledger.deselected:
        lines += ["", "not asked for:", *(f"  {key}" for key in ledger.deselected)]
    return lines


def _load_in_words(users: int | None, rate: float | None) -> str:
    if users is None:
        return f"{rate:g} requests/s"
    return "1 user" if users == 1 else f"{users} users"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [lines[0], "  " + "-" * (sum(widths) + 2 * (len(widths) - 1)), *lines[1:]]


def _split(values: list[str] | None) -> list[str] | None:
    """``--arms a b`` and ``--arms a,b`` are the same; names hold no commas."""
    return None if values is None else [part for value in values for part in value.split(",") if part]
