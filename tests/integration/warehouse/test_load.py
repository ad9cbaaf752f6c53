"""Loading a run: one transaction, idempotent, safe beside others."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchgate.artifacts import RunStore
from benchgate.errors import WarehouseError
from benchgate.records import ErrorGroup, HostSeeds, SeedFact
from benchgate.request_record import RequestRecord
from benchgate.warehouse import load as load_module
from benchgate.warehouse.bundle import RunBundle, read_bundle
from benchgate.warehouse.load import load_run
from tests.support.runs import all_published, campaign, cell_record, ledger_of, requests_file, summary
from tests.support.warehouses import bundle, rows, snapshot, with_requests


def count(url: str, table: str) -> int:
    return int(rows(url, f"SELECT count(*) AS n FROM {table}")[0]["n"])


def test_a_run_is_loaded_whole(url: str, tmp_path: Path) -> None:
    report = load_run(with_requests(tmp_path), url)

    assert (report.changed, report.replaced, report.cells, report.requests) == (True, False, 12, 240)
    assert {name: count(url, name) for name in ("campaign_run", "launch", "cell", "request", "needle_check")} == {
        "campaign_run": 1,
        "launch": 2,
        "cell": 12,
        "request": 240,
        "needle_check": 6,
    }
    assert len(rows(url, "SELECT * FROM published_cell")) == 12


def test_loading_the_same_run_twice_changes_nothing(url: str, tmp_path: Path) -> None:
    load_run(with_requests(tmp_path), url)
    before = snapshot(url)

    report = load_run(with_requests(tmp_path), url)

    assert (report.changed, report.requests) == (False, 0)
    assert snapshot(url) == before


def test_a_run_published_again_replaces_its_rows_and_no_others(url: str, tmp_path: Path) -> None:
    load_run(with_requests(tmp_path, run="kernels.night-0"), url)
    load_run(with_requests(tmp_path, run="kernels.night-1"), url)
    faster = [cell_record(c, summary=summary(decode_tok_s=2000.0)) for c in ledger_of(campaign()).cells]

    report = load_run(bundle(run="kernels.night-1", cells=faster), url)

    assert report.replaced
    found = rows(url, "SELECT run, count(*) AS n, min(decode_tok_s) AS d FROM published_cell GROUP BY run ORDER BY run")
    assert [(row["run"], row["n"], row["d"]) for row in found] == [
        ("kernels.night-0", 12, 1000.0),
        ("kernels.night-1", 12, 2000.0),
    ]
    assert count(url, "request") == 240


def test_a_request_file_that_changed_is_a_changed_run(url: str, tmp_path: Path) -> None:
    load_run(with_requests(tmp_path, 20), url)

    assert load_run(with_requests(tmp_path, 21), url).requests == 12 * 21


def broken_file(tmp_path: Path) -> RunBundle:
    good = requests_file(tmp_path / "good.parquet")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 half a file")
    cells = ledger_of(campaign()).cells
    return bundle(requests={cells[0].cell: good, cells[1].cell: bad})


def test_a_load_that_fails_in_the_middle_leaves_nothing(url: str, tmp_path: Path) -> None:
    load_run(bundle(run="kernels.night-0"), url)
    before = snapshot(url)

    with pytest.raises(WarehouseError, match=r"bad\.parquet cannot be read"):
        load_run(broken_file(tmp_path), url)

    assert snapshot(url) == before


def test_a_replacement_that_fails_leaves_the_earlier_load(url: str, tmp_path: Path) -> None:
    load_run(with_requests(tmp_path), url)
    before = snapshot(url)

    with pytest.raises(WarehouseError):
        load_run(broken_file(tmp_path), url)

    assert snapshot(url) == before


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.1, 0.2, 0.4])
def test_a_process_killed_while_it_loads_leaves_nothing(url: str, tmp_path: Path, delay: float) -> None:
    code = f"""
import sys
from pathlib import Path
from benchgate.warehouse import load
from tests.support.warehouses import with_requests
made = with_requests(Path({str(tmp_path)!r}), 3000)
inner = load.write_requests
def announced(*args):
    print("loading", flush=True)
    return inner(*args)
load.write_requests = announced
load.load_run(made, {url!r})
print("done", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "include:."}
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "loading"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    finished = "done" in process.stdout.read()
    process.wait()

    found = (count(url, "cell"), count(url, "request"))
    assert found in ({(12, 36_000)} if finished else {(0, 0), (12, 36_000)})  # or killed just after the commit
    assert load_run(with_requests(tmp_path, 3000), url).changed is (found == (0, 0))
    assert count(url, "request") == 36_000


def test_runs_load_beside_each_other(url: str, tmp_path: Path) -> None:
    nights = [with_requests(tmp_path / str(n), 200, run=f"kernels.night-{n}") for n in range(6)]

    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(lambda night: load_run(night, url), nights))

    assert all(report.changed for report in reports)
    assert count(url, "request") == 6 * 12 * 200


def test_the_same_run_loaded_by_many_is_there_once(url: str, tmp_path: Path) -> None:
    made = with_requests(tmp_path, 200)

    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _n: load_run(made, url), range(4)))

    assert sorted(report.changed for report in reports) == [False, False, False, True]
    assert count(url, "request") == 12 * 200


def test_readers_see_the_state_before_while_a_load_goes_on(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_run(bundle(run="kernels.night-0"), url)
    inside, go_on = threading.Event(), threading.Event()
    inner = load_module.write_requests

    def paused(*args: Any) -> int:
        inside.set()
        assert go_on.wait(30)
        return inner(*args)

    monkeypatch.setattr(load_module, "write_requests", paused)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(load_run, bundle(run="kernels.night-1"), url)
        assert inside.wait(30)
        seen = count(url, "cell")
        go_on.set()
        loading.result(timeout=30)

    assert seen == 12
    assert count(url, "cell") == 24


HOSTILE = "Robert'); DROP TABLE cell;-- \x00 <script>alert(1)</script> \udc80 \\N \N{SNOWMAN} %s %(x)s :name"


def test_hostile_text_is_stored_as_text(url: str, tmp_path: Path) -> None:
    def hostile(record: RequestRecord) -> None:
        record.status, record.error_message = "http_5xx", HOSTILE.replace("\udc80", "")

    ledger = ledger_of(campaign())
    groups = [ErrorGroup(kind=HOSTILE, count=1, near_cap=0, sample=HOSTILE)]
    cells = [cell_record(c, summary=summary(error_groups=groups, notes=[HOSTILE])) for c in ledger.cells]
    file = requests_file(tmp_path / "r.parquet", 3, hostile)

    load_run(bundle(cells=cells, requests={ledger.cells[0].cell: file}), url)

    sample = rows(url, "SELECT sample FROM error_group")[0]["sample"]
    assert sample.startswith("Robert'); DROP TABLE cell;-- \ufffd <script>")
    assert sample.endswith("\\N \N{SNOWMAN} %s %(x)s :name")
    assert rows(url, "SELECT error_message FROM request")[0]["error_message"].endswith(":name")
    assert count(url, "cell") == 12


def test_parts_that_do_not_belong_together_are_refused(url: str) -> None:
    made = bundle()
    for broken, words in (
        (bundle(ledger=ledger_of(campaign(), "other.run")), "its ledger is of run other.run"),
        (
            bundle(gates=all_published(made.ledger).model_copy(update={"outcomes": []})),
            "triton@h200/quad-a/short-chat/u1/r1 has 0 end states",
        ),
        (bundle(launches=[*made.launches, made.launches[0]]), "launch triton@h200/quad-a has 2 records"),
    ):
        with pytest.raises(WarehouseError, match=words):
            load_run(broken, url)
    assert count(url, "campaign_run") == 0


def test_a_run_is_gathered_from_its_artifacts(benchgate_home: Path, tmp_path: Path) -> None:
    made = with_requests(tmp_path)
    store = RunStore(made.run.run)
    store.write(store.path("run.json"), made.run)
    store.write(store.path("ledger.json"), made.ledger)
    store.write(store.path("seeds", "h200.json"), HostSeeds(host="h200", facts=[_SEED]))
    for launch in made.launches:
        store.write(store.launch_path(launch.launch, "launch.json"), launch)
    for cell in made.cells[:11]:
        store.write(store.cell_path(cell.cell, "cell.json"), cell)
        store.put(store.cell_path(cell.cell, "requests.parquet"), tmp_path / "requests.parquet")

    gathered = read_bundle(store, made.gates)

    assert len(gathered.cells) == 11
    assert len(gathered.requests) == 11
    assert gathered.seeds[0].facts == [_SEED]


_SEED = SeedFact(kind="model", name="openai/gpt-oss-20b", digest="b" * 40, source="hub")


def test_a_store_without_a_ledger_is_named(benchgate_home: Path) -> None:
    with pytest.raises(WarehouseError, match=r"holds no run\.json"):
        read_bundle(RunStore("nowhere"), bundle().gates)


def test_the_plain_sqlite_shell_reads_it(tmp_path: Path, migrated_file: Path) -> None:
    path = tmp_path / "w.db"
    path.write_bytes(migrated_file.read_bytes())
    load_run(bundle(), f"sqlite:///{path}")

    with sqlite3.connect(path) as connection:
        assert connection.execute("select count(*) from published_cell").fetchone() == (12,)
