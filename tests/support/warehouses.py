"""Warehouses for tests: a migrated SQLite file, and loaded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from upath import UPath

from benchgate.artifacts import RunStore
from benchgate.records import CellRecord, GateResult, LaunchRecord, Ledger
from benchgate.spec.campaign import CampaignSpec
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.connect import open_warehouse
from tests.support.runs import (
    all_published,
    campaign,
    cell_record,
    launch_record,
    ledger_of,
    requests_file,
    run_record,
)


def bundle(
    run: str = "kernels.night-1",
    *,
    spec: CampaignSpec | None = None,
    ledger: Ledger | None = None,
    launches: list[LaunchRecord] | None = None,
    cells: list[CellRecord] | None = None,
    gates: GateResult | None = None,
    requests: dict[str, Path] | None = None,
    run_changes: dict[str, Any] | None = None,
    **options: Any,
) -> RunBundle:
    """A whole run, clean unless a test says otherwise."""
    spec = spec or campaign()
    ledger = ledger or ledger_of(spec, run)
    return RunBundle(
        run=run_record(spec, run, **(run_changes or {})),
        ledger=ledger,
        launches=[launch_record(planned) for planned in ledger.launches] if launches is None else launches,
        cells=[cell_record(planned) for planned in ledger.cells] if cells is None else cells,
        gates=gates or all_published(ledger),
        requests={cell: UPath(path) for cell, path in (requests or {}).items()},
        **options,
    )


def with_requests(folder: Path, count: int = 20, **options: Any) -> RunBundle:
    """A run whose cells all have the same ``count`` request records."""
    made = bundle(**options)
    file = requests_file(folder / "requests.parquet", count)
    return bundle(**options, requests={cell.cell: file for cell in made.ledger.cells})


def keep(made: RunBundle) -> RunStore:
    """Put a run into the artifact store, as its steps do."""
    store = RunStore(made.run.run)
    store.write(store.path("run.json"), made.run)
    store.write(store.path("ledger.json"), made.ledger)
    store.write(store.path("gates.json"), made.gates)
    for launch in made.launches:
        store.write(store.launch_path(launch.launch, "launch.json"), launch)
    for cell in made.cells:
        store.write(store.cell_path(cell.cell, "cell.json"), cell)
    for cell_key, requests in made.requests.items():
        store.put(store.cell_path(cell_key, "requests.parquet"), Path(requests.path))
    return store


def rows(url: str, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of a query, as mappings."""
    engine = open_warehouse(url)
    try:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(query), parameters).mappings()]
    finally:
        engine.dispose()


def snapshot(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, to see that nothing changed."""
    from benchgate.warehouse.tables import metadata

    engine = open_warehouse(url)
    try:
        with engine.connect() as connection:
            return {
                table.name: sorted(
                    (tuple(str(value) for value in row) for row in connection.execute(sa.select(table))), key=str
                )
                for table in metadata.sorted_tables
            }
    finally:
        engine.dispose()
