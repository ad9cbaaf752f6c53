"""``benchgate housekeeping``: leftovers on the hosts, runs that were killed before their end, expired artifacts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchgate import settings
from benchgate.artifacts import all_runs
from benchgate.cli.options import number, run_name
from benchgate.errors import BenchgateError
from benchgate.records import RunRecord
from benchgate.spec.load import load_inventory
from benchgate.steps.ending import finish_killed_runs, why_over
from benchgate.steps.leftovers import is_over, record_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``benchgate housekeeping``."""
    parser.add_argument("--host", action="append", metavar="HOST", help="only this host (may be given again)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument(
        "--run",
        action="append",
        type=run_name,
        default=[],
        metavar="KEY",
        help="this run is over, I know it",
    )
    parser.add_argument(
        "--max-hours",
        type=number(above=0),
        metavar="N",
        help="a run that started longer ago is over even if its record says it runs (its worker was killed)",
    )
    parser.add_argument("--no-finish", action="store_true", help="leave killed runs without an end in the warehouse")
    parser.add_argument("--no-artifacts", action="store_true", help="leave expired per-request records alone")
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the inventory (default: include/hosts.yaml)")


def run(args: argparse.Namespace) -> int:
    """Remove and report; 1 when a host could not be looked at or something resisted."""
    inventory = load_inventory(args.hosts or settings.hosts_file())
    wanted = args.host or list(inventory.hosts)
    unknown = [name for name in wanted if name not in inventory.hosts]
    if unknown:
        raise BenchgateError(
            f"there is no host {', '.join(unknown)} in the inventory", remedy=f"hosts are: {', '.join(inventory.hosts)}"
        )
    asked: set[str] = set()  # the runs that something on a host belongs to
    over = decide(set(args.run), args.max_hours, asked)
    problems, said = 0, 0
    for name in wanted:
        try:
            lines = _clean(name, inventory, over, dry=args.dry_run)
        except BenchgateError as error:
            problems += 1
            print(f"error: {error}", file=sys.stderr)
            continue
        said += len(lines)
        print("\n".join(lines) if lines else f"host {name}: nothing to remove")
    unfinished = 0
    if not args.no_finish:
        for one in finish_killed_runs(_why_over(set(args.run), args.max_hours), dry=args.dry_run):
            unfinished, said = unfinished + one.failed, said + (not one.failed)
            print(f"error: {one.text}" if one.failed else one.text, file=sys.stderr if one.failed else sys.stdout)
    if not args.no_artifacts:
        from benchgate.steps.expired import remove_expired

        for line in remove_expired(dry=args.dry_run):
            said += 1
            print(f"artifacts: {line}")
    nowhere = [key for key in args.run if key not in asked and record_of(key) is None]
    if nowhere:
        known = [store.run for store in all_runs()]
        newest = f"the newest there: {', '.join(known[-5:])}" if known else "there is none"
        print(
            f"error: no run {', '.join(nowhere)} is on these hosts or in {settings.artifacts_url()} ({newest})",
            file=sys.stderr,
        )
    print(
        f"{said} things {'would be done' if args.dry_run else 'done'}"
        + (f"; {problems} hosts could not be cleaned" if problems else "")
        + (f"; {unfinished} runs could not be finished" if unfinished else "")
    )
    return 1 if problems or unfinished or nowhere else 0


def decide(over: set[str], max_hours: float | None, asked: set[str] | None = None) -> Callable[[str], bool]:
    """When a run counts as over: its record says so or its owner is gone, the operator says so, or it is too old.

    A run without a record was made by somebody else who shares the host: it is left alone unless it is named. What was
    asked about is noted in ``asked``.
    """

    def run_is_over(key: str) -> bool:
        if asked is not None:
            asked.add(key)
        if key in over:
            return True
        record = record_of(key)
        return record is not None and (is_over(record) or _too_old(record, max_hours))

    return run_is_over


def _why_over(over: set[str], max_hours: float | None) -> Callable[[RunRecord], str | None]:
    """Like :func:`decide`, in words for the run's own record."""

    def why(record: RunRecord) -> str | None:
        if _too_old(record, max_hours):
            return f"it was still running {max_hours:g} hours after its start, and its person gave it up"
        return why_over(record, named=record.run in over)

    return why


def _too_old(record: RunRecord, max_hours: float | None) -> bool:
    if max_hours is None:
        return False
    age = datetime.now(timezone.utc) - datetime.fromisoformat(record.started_at).astimezone(timezone.utc)
    return age > timedelta(hours=max_hours)


def _clean(name: str, inventory: object, over: Callable[[str], bool], *, dry: bool) -> list[str]:
    from benchgate.hosts import get_host
    from benchgate.spec.hosts import Inventory

    assert isinstance(inventory, Inventory)
    host = get_host(name, inventory)
    if inventory.hosts[name].kind == "process":
        return [] if dry else [f"host {name}: removed {what}" for what in host.reap(run_is_over=over)]
    verb = "would remove" if dry else "removed"
    from benchgate.hosts import reaper
    from benchgate.hosts.docker import DockerHost

    assert isinstance(host, DockerHost)
    try:
        done = reaper.reap_engine(host.engine, run_is_over=over, image=host.spec.client_image, dry=dry)
        return [f"host {name}: {verb} {what}" for what in done]
    finally:
        host.engine.close()
