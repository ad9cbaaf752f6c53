"""``benchgate warehouse``: create and upgrade the warehouse, load a run again, query views, keep it small and safe."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

from benchgate.cli.options import run_name, whole

_CELL_WIDTH = 48


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``benchgate warehouse``."""
    parser.add_argument(
        "--url", help="SQLAlchemy URL; default is BENCHGATE_WAREHOUSE, or the SQLite file in BENCHGATE_HOME"
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("migrate", help="create the warehouse, or bring it to this version")
    actions.add_parser("status", help="which migration it is at, and what it holds")
    actions.add_parser("describe", help="print what every view, table and column means, as Markdown")
    roles = actions.add_parser(
        "roles", help="PostgreSQL: create benchgate_loader and benchgate_reader with the least they need"
    )
    roles.add_argument("--print", action="store_true", dest="only_print", help="print the SQL and change nothing")
    query = actions.add_parser("query", help="print a view or table")
    query.add_argument("view", help="for example published_cell, did_not_run, unpublishable, arm_comparison")
    query.add_argument("--limit", type=whole(at_least=0), default=50, help="rows at most (50); 0: all")
    query.add_argument("--campaign", help="only this campaign")
    query.add_argument("--run", help="only this run key")
    query.add_argument("--format", choices=("table", "csv", "json"), default="table")
    retain = actions.add_parser("retain", help="remove request rows that are older than they are kept")
    retain.add_argument(
        "--nights",
        type=whole(at_least=0, at_most=36_500),
        help="nights to keep; default: what each campaign's file says",
    )
    backup = actions.add_parser("backup", help="write the whole warehouse into a new file")
    backup.add_argument("file", type=Path, metavar="FILE", help="file to write; it must not be there yet")
    restore = actions.add_parser("restore", help="bring a backup back, all of it or nothing")
    restore.add_argument("file", type=Path, metavar="FILE", help="as `benchgate warehouse backup` wrote it")
    restore.add_argument("--replace", action="store_true", help="also into a warehouse that holds runs: they are gone")
    load = actions.add_parser("load", help="load a run from its artifacts; loading it again changes nothing")
    load.add_argument("run", type=run_name, metavar="RUN", help="run key: the folder's name in the artifact store")


def run(args: argparse.Namespace) -> int:
    """Do one action; WarehouseError becomes a message and exit code 1."""
    return int(_ACTIONS[args.action](args))


def _migrate(args: argparse.Namespace) -> int:
    from benchgate.warehouse.migrate import migrate

    report = migrate(args.url)
    if report.before is None:
        print(f"created the warehouse at migration {report.after}")
    elif report.before != report.after:
        print(f"migrated the warehouse from {report.before} to {report.after}")
    else:
        print(f"the warehouse is at migration {report.after}" + ("; views renewed" if report.views_recreated else ""))
    return 0


def _status(args: argparse.Namespace) -> int:
    from benchgate.warehouse.migrate import status
    from benchgate.warehouse.query import read_relation, relation_names

    found = status(args.url)
    print(f"warehouse  {found.url}")
    print(f"migration  {found.revision or 'none'} (this version needs {found.head})")
    if found.revision is not None:
        print(f"views      {'of this version' if found.views_current else 'of another version, or incomplete'}")
    if found.revision is not None and found.revision > found.head:
        print("a newer Benchgate migrated it: upgrade this one")
        return 1
    if not found.current:
        what = "its views" if found.revision == found.head else "it"
        print(f"run: python -m benchgate warehouse migrate   (brings {what} to this version)")
        return 1
    runs = read_relation("campaign_run", args.url)
    loaded = runs.columns.index("loaded_at")
    newest = max((row[loaded] for row in runs.rows), default=None)
    print(f"runs       {len(runs.rows)}" + (f", last loaded {_shown(newest)}" if newest is not None else ""))
    print(f"relations  {', '.join(relation_names())}")
    return 0


def _describe(_args: argparse.Namespace) -> int:
    from benchgate.warehouse.describe import markdown

    print(markdown(), end="")
    return 0


def _roles(args: argparse.Namespace) -> int:
    from benchgate.warehouse.connect import parse_url
    from benchgate.warehouse.roles import PASSWORDS, create_roles, role_statements

    if args.only_print:
        database = parse_url(args.url).database or "benchgate"
        print(";\n".join(role_statements(database)) + ";")
        print("-- passwords: \\password benchgate_loader in psql, or set them with `benchgate warehouse roles`")
        return 0
    for role, can_login in create_roles(args.url).items():
        how = "may log in" if can_login else f"has no login yet: set {PASSWORDS[role]} and run this again"
        print(f"{role}: {how}")
    return 0


def _query(args: argparse.Namespace) -> int:
    from benchgate.warehouse.query import read_relation

    answer = read_relation(args.view, args.url, limit=args.limit or None, campaign=args.campaign, run=args.run)
    if args.format == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        print(json.dumps(rows, indent=1, default=_shown))
    elif args.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([[_plain(value) for value in row] for row in answer.rows])
    else:
        _print_table(answer.columns, [[_cut(_shown(value)) for value in row] for row in answer.rows])
    if answer.more:
        print(f"there are more rows; --limit 0 prints all (now {args.limit})", file=sys.stderr)
    return 0


def _retain(args: argparse.Namespace) -> int:
    from benchgate.warehouse.retention import retain

    removed = retain(args.url, nights=args.nights)
    for entry in removed:
        print(f"{entry.run} ({entry.night}): {entry.requests} request rows removed, percentiles kept")
    print(f"{sum(entry.requests for entry in removed)} request rows of {len(removed)} runs removed")
    return 0


def _backup(args: argparse.Namespace) -> int:
    from benchgate.warehouse.backup import backup

    made = backup(args.file, args.url)
    print(f"wrote {made.file}: {made.runs} runs at migration {made.revision or 'none'}")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from benchgate.warehouse.backup import restore
    from benchgate.warehouse.migrate import head_revision

    done = restore(args.file, args.url, replace=args.replace)
    print(f"restored {done.runs} runs at migration {done.revision or 'none'}")
    if done.revision != head_revision():
        print("it is from an older version; run: python -m benchgate warehouse migrate")
    return 0


def _load(args: argparse.Namespace) -> int:
    from benchgate.artifacts import RunStore
    from benchgate.errors import WarehouseError
    from benchgate.gates import expected_outcome
    from benchgate.records import GateResult
    from benchgate.warehouse.bundle import read_bundle
    from benchgate.warehouse.load import load_run

    store = RunStore(args.run)
    gates = store.read(store.path("gates.json"), GateResult)
    if gates is None:
        raise WarehouseError(
            f"run {args.run} has no gates.json in {store.root}",
            remedy="name a run that was validated, or set BENCHGATE_ARTIFACTS to the store it is in",
        )
    bundle = read_bundle(store, gates)
    spec = bundle.campaign_spec()
    expectation = expected_outcome(spec, bundle.ledger, gates.outcomes) if spec is not None else None
    report = load_run(read_bundle(store, gates, expectation=expectation), args.url)
    done = "replaced" if report.replaced else "loaded"
    print(
        f"{done} {report.run}: {report.cells} cells, {report.requests} requests"
        if report.changed
        else f"{report.run} is loaded already; nothing changed"
    )
    return 0


_ACTIONS = {
    "migrate": _migrate,
    "status": _status,
    "describe": _describe,
    "roles": _roles,
    "query": _query,
    "retain": _retain,
    "backup": _backup,
    "restore": _restore,
    "load": _load,
}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (int, float, str)) else _shown(value)


def _shown(value: Any) -> str:
    """A value as a person reads it. Unknown is empty, never 0."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CELL_WIDTH else line[: _CELL_WIDTH - 1] + "\u2026"


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    if not rows:
        print("no rows")
        return
    widths = [max(len(name), *(len(row[i]) for row in rows)) for i, name in enumerate(columns)]
    for line in (columns, ["-" * width for width in widths], *rows):
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
