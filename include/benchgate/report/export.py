"""A run as rows for other tools: every planned cell with its end state, its numbers and what it ran on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchgate.analysis.read import moment_text, read_run
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, reading, shown
from benchgate.warehouse.migrate import require_current

_LAUNCH_COLUMNS = (
    "launch",
    "engine",
    "engine_version",
    "image",
    "image_digest",
    "model_id",
    "model_revision",
    "fingerprint",
    "simulated",
    "moe_kernel",
    "attention_backend",
    "kv_tokens",
    "kv_meaning",
    "weights_gib",
    "memory_reserved_gib",
    "startup_s",
    "needles_found",
    "needles_asked",
    "needle_context_tokens",
    "arguments",
    "environment_names",
)
_MACHINE_COLUMNS = ("gpu_model", "gpu_count", "driver", "cpu_model", "cpu_count", "memory_gib")
# every column of an export, in order; a run without any row has them as well
EXPORTED: dict[str, sa.Column[Any]] = {
    "run": t.campaign_run.c.run,
    "campaign": t.campaign_run.c.campaign,
    "run_started_at": t.campaign_run.c.started_at,
    **{column.name: column for column in t.cell.c if not column.name.endswith("_id")},
    **{name: t.launch.c[name] for name in _LAUNCH_COLUMNS},
    **{name: t.host_snapshot.c[name] for name in _MACHINE_COLUMNS},
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_rows(run: str, url: str | None = None, *, published_only: bool = False) -> list[dict[str, Any]]:
    """One row for each planned cell: run, cell, launch and machine. Unknown values are None.

    Cells that a gate refused have their numbers and ``end_state`` unpublishable; ``published_only`` leaves them out.

    Raises:
        WarehouseError: no such run, or no usable warehouse.
    """
    cell, launch, machine, runs = t.cell, t.launch, t.host_snapshot, t.campaign_run
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            facts = read_run(connection, run)
            query = (
                sa.select(*(column.label(name) for name, column in EXPORTED.items()))
                .select_from(cell)
                .join(runs, runs.c.run_id == cell.c.run_id)
                .join(launch, launch.c.launch_id == cell.c.launch_id)
                .outerjoin(machine, machine.c.launch_id == launch.c.launch_id)
                .where(cell.c.run_id == facts.run_id)
                .order_by(cell.c.cell)
            )
            if published_only:
                query = query.where(cell.c.end_state == "published")
            return [{name: _plain(name, v) for name, v in row.items()} for row in connection.execute(query).mappings()]
    finally:
        engine.dispose()


def _plain(name: str, value: Any) -> Any:
    if name.endswith("_at"):
        return moment_text(value)
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a header; unknown is empty. A text that a spreadsheet would run as a formula gets a leading ``'``."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(EXPORTED), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def to_parquet(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Parquet with the warehouse's own types, so that a column without a known value keeps its type; times are text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow(column.type)) for name, column in EXPORTED.items()])
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), path)


def _arrow(kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(kind, sa.Boolean):
        return pa.bool_()
    if isinstance(kind, sa.Integer):  # BigInteger is one, too
        return pa.int64()
    return pa.float64() if isinstance(kind, sa.Float) else pa.string()
