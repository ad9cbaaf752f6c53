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
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from upath import UPath

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "include"), str(ROOT)]

from benchgate.analysis.findings_of_run import find_and_write  # noqa: E402
from benchgate.analysis.write import write_sources  # noqa: E402
from benchgate.client.requests_file import read_requests, write_requests  # noqa: E402
from benchgate.metrics.summary import summarise  # noqa: E402
from benchgate.records import CellOutcome, CellRecord, EndState, GateResult, Ledger  # noqa: E402
from benchgate.request_record import ClientFacts, RequestRecord  # noqa: E402
from benchgate.spec.campaign import CampaignSpec  # noqa: E402
from benchgate.spec.load import load_sources  # noqa: E402
from benchgate.warehouse.bundle import RunBundle  # noqa: E402
from benchgate.warehouse.connect import open_warehouse  # noqa: E402
from benchgate.warehouse.load import load_run  # noqa: E402
from benchgate.warehouse.migrate import migrate  # noqa: E402
from benchgate.warehouse.views import VIEWS  # noqa: E402
from benchmarks.warehouse_year import LAST_NIGHT, Year, fill_year  # noqa: E402
from tests.support.runs import campaign, launch_record, ledger_of, run_record  # noqa: E402

SOURCE = "gpt-oss-120b-two-kernels"  # of include/sources.yaml: the arms and workloads that it states have its names
ARMS = ("triton", "marlin")
WORKLOADS = ("short-chat", "prompt-8k", "document-126k")


def spec_of(name: str, arms: int, cells: int, repeats: int) -> CampaignSpec:
    """A campaign of ``arms`` x ``cells`` x ``repeats``; its cells are four user levels of cells / 4 workloads."""
    arm_names = [*ARMS, *(f"arm-{number:02d}" for number in range(len(ARMS), arms))]
    workload_names = [*WORKLOADS, *(f"workload-{number}" for number in range(len(WORKLOADS), cells // 4))]
    return campaign(
        campaign=name,
        arms={arm: {"placement": f"h200-{number}/quad-a"} for number, arm in enumerate(arm_names)},
        workloads={
            workload: {"dataset": "sharegpt", "users": [1, 8, 64, 256]} for workload in workload_names[: cells // 4]
        },
        repeats=repeats,
        sources=[SOURCE] if name == "campaign-00" else [],
    )


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
        run=run_record(spec, run, airflow_run_id=LAST_NIGHT, started_at=f"{LAST_NIGHT}T02:00:00Z"),
        ledger=ledger,
        launches=[launch_record(launch) for launch in ledger.launches],
        cells=cells,
        gates=mixed_outcomes(ledger),
        requests={cell.cell: UPath(files[number % len(files)]) for number, cell in enumerate(ledger.cells)},
    )


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that ``action`` took, and its result."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


# what a person asks of a view: one run, one series over the nights, the campaign's year
OF_RUN = "campaign = :campaign AND run = :run"
SERIES = "campaign = :campaign AND arm = 'marlin' AND workload = 'short-chat' AND load_label = 'u64'"
NEWEST = "(SELECT run FROM campaign_run WHERE campaign = :campaign ORDER BY night DESC LIMIT 1)"
NO_RUN = ("versus_reference",)
NO_SERIES = ("versus_reference", "reversal")


def questions() -> list[tuple[str, str]]:
    """Title and query of all that is timed."""
    asked: list[tuple[str, str]] = [("versus_reference, all", "SELECT * FROM versus_reference")]
    for view in VIEWS:
        if view not in NO_RUN:
            asked.append((f"{view}, one run", f"SELECT * FROM {view} WHERE {OF_RUN}"))
            asked.append(
                (f"{view}, the newest run", f"SELECT * FROM {view} WHERE campaign = :campaign AND run = {NEWEST}")
            )
        if view not in NO_SERIES:
            asked.append((f"{view}, one series, all nights", f"SELECT * FROM {view} WHERE {SERIES}"))
        asked.append((f"{view}, counted over all nights", f"SELECT count(*) FROM {view} WHERE campaign = :campaign"))
    mean = "SELECT night, arm, avg(decode_tok_s) FROM {} WHERE campaign = :campaign GROUP BY night, arm"
    asked += [
        (f"{view}, mean of each arm and night", mean.format(view)) for view in ("nightly_trend", "published_cell")
    ]
    return asked


def time_views(url: str, name: str, repeats: int = 3) -> list[dict[str, Any]]:
    """Median seconds of every question, read to the last row."""
    engine = open_warehouse(url, keep_connections=True)
    results = []
    with engine.connect() as connection:
        for title, query in questions():
            values = {"campaign": name, "run": f"{name}.{LAST_NIGHT}"}
            statement = sa.text(query)
            statement = statement.bindparams(**{key: values[key] for key in values if f":{key}" in query})
            times, rows = [], 0
            for _ in range(repeats):
                seconds, answer = timed(lambda statement=statement: connection.execute(statement).fetchall())
                times.append(seconds)
                rows = answer[0][0] if "counted" in title else len(answer)
            results.append({"question": title, "seconds": statistics.median(times), "first": times[0], "rows": rows})
            print(f"  {statistics.median(times):8.3f} s ({times[0]:.3f} first)  {rows:8d} rows  {title}", flush=True)
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
    parser.add_argument("--request-nights", type=int, default=30, help="nights that keep request rows")
    parser.add_argument("--request-campaigns", type=int, default=1, help="campaigns that have request rows")
    parser.add_argument("--finding-campaigns", type=int, default=1, help="campaigns that have findings, every night")
    parser.add_argument("--only-views", action="store_true", help="time the views of a warehouse that is there")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    args = parser.parse_args()
    report: dict[str, Any] = {**vars(args), "json": None}
    if not args.only_views:
        make(args, report)
    print("views of one campaign (median of 3):", flush=True)
    report["views"] = time_views(args.url, "campaign-00")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1, default=str))
    return 0


def make(args: argparse.Namespace, report: dict[str, Any]) -> None:
    """Load a night of every campaign, the first with its request rows, and make the year before it."""
    migrate(args.url)
    write_sources(load_sources(ROOT / "include" / "sources.yaml"), args.url)
    names = [f"campaign-{number:02d}" for number in range(args.campaigns)]
    with tempfile.TemporaryDirectory() as folder:
        files = request_files(Path(folder), args.requests)
        for number, name in enumerate(names):
            night = one_night(name, args, files)
            if number >= args.request_campaigns:
                night = replace(night, requests={})
            seconds, loaded = timed(lambda night=night: load_run(night, args.url))  # type: ignore[misc]
            if number == 0:
                report["load"] = {"seconds": seconds, "cells": loaded.cells, "requests": loaded.requests}
                print(f"one night: {seconds:.1f} s, {loaded.cells} cells, {loaded.requests} requests", flush=True)
                again, _ = timed(lambda night=night: load_run(night, args.url))  # type: ignore[misc]
                report["load_again_seconds"] = again
                print(f"the same load again (nothing to do): {again:.1f} s", flush=True)
            if number < args.finding_campaigns:
                seconds, _ = timed(lambda name=name: find_and_write(f"{name}.{LAST_NIGHT}", args.url))  # type: ignore[misc]
                print(f"findings of {name}: {seconds:.1f} s", flush=True)
    year = Year(args.nights, args.request_nights, args.request_campaigns, args.finding_campaigns)
    seconds, _ = timed(lambda: fill_year(args.url, names, year))
    print(f"{args.nights - 1} earlier nights made in {seconds:.0f} s", flush=True)
    engine = open_warehouse(args.url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # what autovacuum does by and by
        connection.exec_driver_sql("VACUUM ANALYZE" if engine.dialect.name == "postgresql" else "ANALYZE")
        for table in ("campaign_run", "launch", "cell", "request", "comparison", "regression_finding"):
            count = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
            report[f"{table}_rows"] = count
            print(f"{table}: {count} rows", flush=True)
    engine.dispose()
    if args.finding_campaigns:  # with a year behind it
        seconds, _ = timed(lambda: find_and_write(f"{names[0]}.{LAST_NIGHT}", args.url))
        report["findings_seconds"] = seconds
        print(f"findings of {names[0]} with all its nights: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
