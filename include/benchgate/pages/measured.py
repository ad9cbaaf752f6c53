"""Cells of loaded runs as the statistics take them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.cells import IDENTITY, MeasuredCell, from_row
from benchgate.analysis.measures import MEASURES
from benchgate.pages.reading import Row, rows
from benchgate.pages.words import iso
from benchgate.warehouse import tables as t


def measured_cells(connection: Connection, run: Row) -> list[MeasuredCell]:
    """The cells of one run that were measured, refused ones included, in ledger order."""
    cell, launch = t.cell, t.launch
    of_launch = [measure.name for measure in MEASURES if measure.of == "launch"]
    columns: list[Any] = [cell.c[measure.name] for measure in MEASURES if measure.of == "cell"]
    columns += [launch.c[name] for name in (*of_launch, "kv_meaning", "simulated")]
    columns += [cell.c[name] for name in IDENTITY if name != "simulated"]
    columns += [cell.c[name] for name in _COLUMNS]
    query = (
        sa.select(*columns, cell.c.requests_planned.label("requests"))
        .join(launch, launch.c.launch_id == cell.c.launch_id)
        .where(cell.c.run_id == run["run_id"], cell.c.end_state.in_(("published", "unpublishable")))
        .order_by(cell.c.cell)
    )
    same: dict[Any, Any] = {"run": run["run"], "campaign": run["campaign"], "night": iso(run["started_at"])}
    return [from_row({**row, **same}) for row in rows(connection, query)]


_COLUMNS = [
    "arm",
    "host",
    "placement",
    "workload",
    "users",
    "request_rate",
    "repeat",
    "end_state",
    "reason",
    "dataset",
    "prompt_tokens_requested",
    "max_tokens",
    "endpoint",
    "client_version",
    "latency_verdict",
    "latency_reason",
    "warm_verdict",
    "completed",
    "errors",
]
