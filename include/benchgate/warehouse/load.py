"""Load a campaign run: one transaction, all of it or nothing, and the same run twice changes nothing.

``load_run(bundle, url) -> LoadReport``                     the run after its gates, see ``bundle.RunBundle``
``bundle.read_bundle(store, gates, ..) -> RunBundle``       the same, gathered from the artifact store
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from upath import UPath

from benchgate.artifacts import read_bytes
from benchgate.warehouse import tables as t
from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.connect import open_warehouse, shown, writing
from benchgate.warehouse.migrate import require_current
from benchgate.warehouse.percentiles import percentile_row
from benchgate.warehouse.requests import request_table, write_requests
from benchgate.warehouse.rows import Rows, build_rows, cell_id_of, run_id_of
from benchgate.warehouse.values import now

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LoadReport:
    """What a load did."""

    run: str
    changed: bool  # False: these very rows were there already
    replaced: bool  # an earlier load of this run was replaced
    cells: int
    requests: int  # request rows written; 0 when nothing changed


def load_run(bundle: RunBundle, url: str | None = None) -> LoadReport:
    """Write one campaign run into the warehouse, in one transaction.

    A run that is there with the same content is left as it is. One that is there with other content is replaced,
    with all that hangs on it. When anything fails, the warehouse is as it was before. Loads of different runs may go
    on at once; two loads of the same run take turns.

    Args:
        bundle: the run after its gates.
        url: SQLAlchemy URL; default is the configured warehouse.

    Raises:
        WarehouseError: the bundle's parts do not belong together, a request file cannot be read, or the warehouse is
            missing, at another migration, locked, read-only or full. Nothing of the run is kept.
    """
    bundle.check()
    rows = build_rows(bundle)
    run_id = run_id_of(bundle.run.run)
    engine = open_warehouse(url)
    try:
        with writing(engine) as connection:
            revision = require_current(connection, shown(engine.url))
            take_turns(connection, run_id)
            content = _content_sha256(rows, bundle.requests, revision)
            existing = connection.execute(
                sa.select(t.campaign_run.c.content_sha256).where(t.campaign_run.c.run_id == run_id)
            ).first()
            if existing is not None and existing.content_sha256 == content:
                return LoadReport(bundle.run.run, False, False, len(rows["cell"]), 0)
            if existing is not None:
                _remove(connection, run_id)
            rows["campaign_run"][0] |= {"content_sha256": content, "loaded_at": now()}
            for table in t.metadata.sorted_tables:
                if rows[table.name]:
                    connection.execute(sa.insert(table), rows[table.name])
            percentiles: list[dict[str, Any]] = []
            written = write_requests(connection, _request_tables(bundle, rows, percentiles))
            if percentiles:
                connection.execute(sa.insert(t.request_percentile), percentiles)
            return LoadReport(bundle.run.run, True, existing is not None, len(rows["cell"]), written)
    finally:
        engine.dispose()


def take_turns(connection: Connection, run_id: int) -> None:
    """Wait until nobody else writes this run, until the end of the transaction. SQLite has one writer anyhow."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": run_id})


def _remove(connection: Connection, run_id: int) -> None:
    """Delete a run; everything below it goes with it (ON DELETE CASCADE), its request rows first."""
    cells = sa.select(t.cell.c.cell_id).where(t.cell.c.run_id == run_id)
    connection.execute(sa.delete(t.request).where(t.request.c.cell_id.in_(cells)))
    connection.execute(sa.delete(t.campaign_run).where(t.campaign_run.c.run_id == run_id))


def _request_tables(bundle: RunBundle, rows: Rows, percentiles: list[dict[str, Any]]) -> Iterator[pa.Table]:
    """The request rows of each cell; ``percentiles`` gets what they say, a row a cell."""
    run_id = run_id_of(bundle.run.run)
    verdicts = {row["cell_id"]: row["latency_verdict"] for row in rows["cell"]}
    for cell, source in sorted(bundle.requests.items()):
        cell_id = cell_id_of(bundle.run.run, cell)
        if cell_id in verdicts:
            table = request_table(source, cell_id, latencies_valid=verdicts[cell_id] == "valid")
            percentiles.append(percentile_row(table, run_id, cell_id))
            yield table


def _content_sha256(rows: Mapping[str, list[dict[str, Any]]], requests: Mapping[str, UPath], revision: str) -> str:
    """Hash of all that a load would write, and of the migration that it would be written for."""
    digest = hashlib.sha256(revision.encode())
    for name in sorted(rows):
        digest.update(json.dumps([name, rows[name]], sort_keys=True, ensure_ascii=False).encode())
    for cell, source in sorted(requests.items()):
        digest.update(cell.encode())
        digest.update(hashlib.sha256(_bytes(source)).digest())
    return digest.hexdigest()


def _bytes(source: UPath) -> bytes:
    return read_bytes(source) or b""  # reading the rows names a missing file
