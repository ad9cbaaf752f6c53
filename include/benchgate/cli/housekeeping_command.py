"""``benchgate housekeeping``: leftovers on the hosts, runs that were killed before their end, expired artifacts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchgate import settings
from benchgate.artifacts import all_runs
from benchgate.cli.options import number, run_name
from benchgate.errors import BenchgateError
from benchgate.records import RunRecord
from benchgate.spec.hosts import Inventory
from benchgate.spec.load import load_inventory
from benchgate.steps.campaign_gone import why_no_dag
from benchgate.steps.ending import finish_killed_runs, why_over
from benchgate.steps.leftovers import LEFT_ALONE, is_over, left_alone, record_of


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
    unrecorded: set[str] = set()  # of these, what nobody here knows
    over = decide(set(args.run), args.max_hours, asked, unrecorded)
    problems, said = 0, 0
    for name in wanted:
        try:
            lines, left = _clean(name, inventory, over, unrecorded, dry=args.dry_run)
        except BenchgateError as error:
            problems += 1
            print(f"error: {error}", file=sys.stderr)
            continue
        said += len(lines)
        print("\n".join([*lines, *left]) if lines or left else f"host {name}: nothing to remove")
    unfinished = 0
    stuck: list[str] = []
    if not args.no_finish:
        for one in finish_killed_runs(_why_over(set(args.run), args.max_hours, stuck), dry=args.dry_run):
            unfinished, said = unfinished + one.failed, said + (not one.failed)
            print(f"error: {one.text}" if one.failed else one.text, file=sys.stderr if one.failed else sys.stdout)
        for line in stuck:
            print(line)
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


def decide(
    over: set[str], max_hours: float | None, asked: set[str] | None = None, unknown: set[str] | None = None
) -> Callable[[str], bool]:
    """When a run counts as over: its record says so or its owner is gone, the operator says so, or it is too old.

    A run without a record was made by somebody else who shares the host: it is left alone unless it is named. What was
    asked about is noted in ``asked``, and what nobody here knows in ``unknown``.
    """

    def run_is_over(key: str) -> bool:
        if asked is not None:
            asked.add(key)
        if key in over:
            return True
        record = record_of(key)
        if record is None and unknown is not None:
            unknown.add(key)
        return record is not None and (is_over(record) or _too_old(record, max_hours))

    return run_is_over


def _why_over(over: set[str], max_hours: float | None, stuck: list[str]) -> Callable[[RunRecord], str | None]:
    """Like :func:`decide`, in words for the run's own record. Runs of Airflow without a campaign are told in ``stuck``:
    whether a task of them is still at work, only Airflow knows.
    """

    def why(record: RunRecord) -> str | None:
        if _too_old(record, max_hours):
            return f"it was still running {max_hours:g} hours after its start, and its person gave it up"
        why = why_over(record, named=record.run in over)
        amiss = why_no_dag(record.campaign) if why is None and record.owner is None else None
        if amiss is not None:
            stuck.append(
                f"run {record.run} is left alone: {amiss}. The DAG housekeeping ends it when that stays so; if you "
                f"know that it is over: python -m benchgate housekeeping --run {record.run}"
            )
        return why

    return why


def _too_old(record: RunRecord, max_hours: float | None) -> bool:
    if max_hours is None:
        return False
    age = datetime.now(timezone.utc) - datetime.fromisoformat(record.started_at).astimezone(timezone.utc)
    return age > timedelta(hours=max_hours)


def _clean(
    name: str, inventory: Inventory, over: Callable[[str], bool], unknown: Collection[str], *, dry: bool
) -> tuple[list[str], list[str]]:
    """What was removed from a host, and what of ``unknown`` was left there; ``over`` fills ``unknown``."""
    from benchgate.hosts import get_host, reaper
    from benchgate.hosts.docker import DockerHost
    from benchgate.hosts.process import ProcessHost

    host = get_host(name, inventory)
    verb = "would remove" if dry else "removed"
    if not isinstance(host, DockerHost):
        assert isinstance(host, ProcessHost)
        held = [f"server of {holder.holder()}" for holder in host.holders() if over(holder.run)]
        done = held if dry else host.reap(run_is_over=over)
        left = left_alone(host, unknown)
    else:
        try:
            done = reaper.reap_engine(host.engine, run_is_over=over, image=host.spec.client_image, dry=dry)
            left = left_alone(host, unknown)
        finally:
            host.engine.close()
    return [f"host {name}: {verb} {what}" for what in done], [f"host {name}{LEFT_ALONE}{what}" for what in left]
