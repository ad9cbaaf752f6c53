"""How the warehouse holds a year of nights: load of one campaign night, then every view of one campaign.

    python -m benchmarks.warehouse_scale --url postgresql://user@host/empty_database
    python -m benchmarks.warehouse_scale --url sqlite:////tmp/scale.db --campaigns 2 --nights 60

A night is 20 arms x 20 cells x 3 repeats of a campaign, 1,000 requests a cell. The history is made inside the
database, by copying one loaded night with noise. Times are wall clock; views are read to their last row by the client.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from upath import UPath

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "include"), str(ROOT)]

from benchgate.client.requests_file import read_requests, write_requests  # noqa: E402
from benchgate.metrics.summary import summarise  # noqa: E402
from benchgate.records import CellOutcome, CellRecord, EndState, GateResult, Ledger  # noqa: E402
from benchgate.request_record import ClientFacts, RequestRecord  # noqa: E402
from benchgate.spec.campaign import CampaignSpec  # noqa: E402
from benchgate.warehouse import tables as t  # noqa: E402
from benchgate.warehouse.bundle import RunBundle  # noqa: E402
from benchgate.warehouse.connect import open_warehouse, writing  # noqa: E402
from benchgate.warehouse.load import load_run  # noqa: E402
from benchgate.warehouse.migrate import migrate  # noqa: E402
from benchgate.warehouse.views import VIEWS  # noqa: E402
from tests.support.runs import campaign, launch_record, ledger_of, run_record  # noqa: E402

LAST_NIGHT = "2026-12-31"
_NOISY = ("decode_tok_s", "prefill_tok_s", "ttft_p50_ms", "tpot_p50_ms")


def spec_of(name: str, arms: int, cells: int, repeats: int) -> CampaignSpec:
    """A campaign of ``arms`` x ``cells`` x ``repeats``; its cells are four user levels of cells / 4 workloads."""
    placements = {f"arm-{number:02d}": {"placement": f"h200-{number}/quad-a"} for number in range(arms)}
    workloads = {
        f"workload-{number}": {"dataset": "sharegpt", "users": [1, 8, 64, 256]} for number in range(max(1, cells // 4))
    }
    return campaign(campaign=name, arms=placements, workloads=workloads, repeats=repeats)


def request_files(folder: Path, requests: int, kinds: int = 8) -> list[Path]:
    """A few different request files, used in turn: what a load costs does not depend on their number."""
    random_of, files = random.Random(7), []
    for kind in range(kinds):
        records = []
        for number in range(requests):
            sent = number * 0.05
            first = sent + random_of.lognormvariate(-2.5, 0.4)
            last = first + random_of.uniform(1.0, 3.0)
            records.append(
                RequestRecord(
                    request_id=number,
                    user=number % 64,
                    queued_at=sent,
                    sent_at=sent,
                    first_token_at=first,
                    first_visible_at=first,
                    last_token_at=last,
                    ended_at=last,
                    http_status=200,
                    finish_reason="stop",
                    prompt_tokens=random_of.randint(50, 400),
                    completion_tokens=random_of.randint(50, 256),
                    token_count_source="usage",
                    max_tokens=256,
                    events=200,
                    itl_s=[0.01] * 50,
                )
            )
        files.append(folder / f"requests-{kind}.parquet")
        write_requests(files[-1], records, ClientFacts(client_name="benchgate", client_version="0.1.0"))
    return files


def mixed_outcomes(ledger: Ledger) -> GateResult:
    """Most cells published; the last arm never started, the one before it failed its needle check."""
    arms = list(dict.fromkeys(launch.arm for launch in ledger.launches))
    states = {
        arms[-1]: (EndState.NOT_RUN, "vocab_missing: the vocabulary was not seeded"),
        arms[-2]: (EndState.UNPUBLISHABLE, "needle check 0/3: nothing came back from depth 0.1, 0.5, 0.9"),
    }
    outcomes = []
    for cell in ledger.cells:
        state, reason = states.get(cell.arm, (EndState.PUBLISHED, None))
        outcomes.append(CellOutcome(cell=cell.cell, state=state, reason=reason))
    return GateResult(verdicts=[], quarantine=[], outcomes=outcomes)


def one_night(name: str, args: argparse.Namespace, files: list[Path]) -> RunBundle:
    """The newest night of a campaign, with its request files."""
    spec = spec_of(name, args.arms, args.cells, args.repeats)
    run = f"{name}.{LAST_NIGHT}"
    ledger = ledger_of(spec, run)
    summaries = [summarise(*read_requests(file)) for file in files]
    cells = [
        CellRecord(**cell.model_dump(), state="measured", summary=summaries[number % len(files)])
        for number, cell in enumerate(ledger.cells)
    ]
    return RunBundle(
        run=run_record(spec, run, started_at=f"{LAST_NIGHT}T02:00:00Z"),
        ledger=ledger,
        launches=[launch_record(launch) for launch in ledger.launches],
        cells=cells,
        gates=mixed_outcomes(ledger),
        requests={cell.cell: UPath(files[number % len(files)]) for number, cell in enumerate(ledger.cells)},
    )


def copy_nights(url: str, name: str, nights: int, request_nights: int) -> None:
    """Make the nights before the newest one by copying it, with 3 % noise on the metrics."""
    engine = open_warehouse(url)
    for back in range(1, nights):
        with writing(engine) as connection:
            date = f"DATE '{LAST_NIGHT}' - {back}"
            night = date if connection.dialect.name == "postgresql" else f"date('{LAST_NIGHT}', '-{back} days')"
            moment = (
                f"TIMESTAMPTZ '{LAST_NIGHT}T02:00:00Z' - interval '{back} days'"
                if connection.dialect.name == "postgresql"
                else f"strftime('%Y-%m-%dT02:00:00.000000Z', '{LAST_NIGHT}', '-{back} days')"
            )
            noise = (
                "(0.97 + 0.06 * random())"
                if connection.dialect.name == "postgresql"
                else "(0.97 + 0.06 * abs(random() % 1000) / 1000.0)"
            )
            changes: dict[str, dict[str, str]] = {
                "campaign_run": {
                    "run": f"'{name}.' || {night}",
                    "night": night,
                    "started_at": moment,
                    "content_sha256": "NULL",
                },
                "launch": {},
                "cell_median": {
                    "run": f"'{name}.' || {night}",
                    "night": night,
                    "run_started_at": moment,
                    **{column: f"x.{column} * {noise}" for column in _NOISY},
                },
                "cell": {column: f"x.{column} * {noise}" for column in _NOISY},
            }
            if back < request_nights:
                changes["request"] = {}
            for table, special in changes.items():
                _copy(connection, t.metadata.tables[table], name, back, special)
    engine.dispose()


def _copy(connection: Any, table: sa.Table, name: str, back: int, special: dict[str, str]) -> None:
    ids = ("run_id", "launch_id", "cell_id")
    picked = [
        special.get(column, f"x.{column} - {back}" if column in ids else f"x.{column}")
        for column in table.columns.keys()  # noqa: SIM118 (a mapping of columns)
    ]
    joins = {
        "campaign_run": "",
        "request": " JOIN cell c ON c.cell_id = x.cell_id JOIN campaign_run r ON r.run_id = c.run_id",
    }
    join = joins.get(table.name, " JOIN campaign_run r ON r.run_id = x.run_id")
    run = "x.run" if table.name == "campaign_run" else "r.run"
    columns = ", ".join(table.columns.keys())
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({columns}) SELECT {', '.join(picked)} FROM {table.name} x{join} "
        f"WHERE {run} = '{name}.{LAST_NIGHT}'"
    )


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that ``action`` took, and its result."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def time_views(url: str, name: str, repeats: int = 3) -> list[dict[str, Any]]:
    """Median seconds of every view: the newest run of a campaign, and one series over all of its nights."""
    engine = open_warehouse(url, keep_connections=True)
    run = f"{name}.{LAST_NIGHT}"
    series = "campaign = :campaign AND arm = 'arm-01' AND workload = 'workload-0' AND load_label = 'u64'"
    of_run = "campaign = :campaign AND run = :run"
    asked: list[tuple[str, str]] = []
    for view in VIEWS:
        if view == "versus_reference":
            asked.append((view, f"SELECT * FROM {view}"))
        elif view == "request_percentile_check":  # it sorts every request it is asked about
            asked.append((f"{view}, one arm", f"SELECT * FROM {view} WHERE {of_run} AND arm = 'arm-01'"))
        else:
            asked.append((view, f"SELECT * FROM {view} WHERE {of_run}"))
    asked += [
        (f"{view}, one series, all nights", f"SELECT * FROM {view} WHERE {series}")
        for view in ("nightly_trend", "published_cell", "arm_comparison")
    ]
    asked += [
        (f"{view}, count over all nights", f"SELECT count(*) FROM {view} WHERE campaign = :campaign")
        for view in ("published_cell", "did_not_run", "unpublishable")
    ]
    results = []
    with engine.connect() as connection:
        for title, query in asked:
            values = {key: value for key, value in (("campaign", name), ("run", run)) if f":{key}" in query}
            statement = sa.text(query).bindparams(**values)
            times, rows = [], 0
            for _ in range(repeats):
                seconds, answer = timed(lambda statement=statement: connection.execute(statement).fetchall())
                times.append(seconds)
                rows = len(answer)
            results.append({"view": title, "seconds": statistics.median(times), "rows": rows})
            print(f"  {statistics.median(times):8.3f} s  {rows:8d} rows  {title}", flush=True)
    engine.dispose()
    return results


def main() -> int:
    """Run the benchmark and print what it measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="an empty database or a new SQLite file")
    parser.add_argument("--campaigns", type=int, default=50)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--arms", type=int, default=20)
    parser.add_argument("--cells", type=int, default=20, help="cells an arm, before repeats")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1000, help="requests a cell")
    parser.add_argument("--request-nights", type=int, default=1, help="nights that keep request rows, per campaign")
    parser.add_argument("--request-campaigns", type=int, default=1, help="campaigns that have request rows at all")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    args = parser.parse_args()
    report: dict[str, Any] = {**vars(args), "json": None}
    migrate(args.url)
    with tempfile.TemporaryDirectory() as folder:
        files = request_files(Path(folder), args.requests)
        for number in range(args.campaigns):
            name = f"campaign-{number:02d}"
            night = one_night(name, args, files)
            if number >= args.request_campaigns:
                night = RunBundle(**{**night.__dict__, "requests": {}})
            seconds, loaded = timed(lambda night=night: load_run(night, args.url))  # type: ignore[misc]
            if number == 0:
                report["load"] = {"seconds": seconds, "cells": loaded.cells, "requests": loaded.requests}
                print(
                    f"load of one night: {seconds:.1f} s, {loaded.cells} cells, {loaded.requests} requests", flush=True
                )
                again, _ = timed(lambda night=night: load_run(night, args.url))  # type: ignore[misc]
                report["load_again_seconds"] = again
                print(f"the same load again (nothing to do): {again:.1f} s", flush=True)
            seconds, _ = timed(lambda name=name: copy_nights(args.url, name, args.nights, args.request_nights))  # type: ignore[misc]
            if number in (0, args.campaigns - 1):
                print(f"{name}: {args.nights - 1} earlier nights made in {seconds:.0f} s", flush=True)
    engine = open_warehouse(args.url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
        for table in ("campaign_run", "launch", "cell", "request"):
            count = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            report[f"{table}_rows"] = count
            print(f"{table}: {count} rows", flush=True)
    engine.dispose()
    print("views of one campaign (median of 3):", flush=True)
    report["views"] = time_views(args.url, "campaign-00")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1, default=str))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
