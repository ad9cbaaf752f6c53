"""One planned cell of a run: how it ended and why, every number of it, and its history over the nights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages import task_ids
from benchgate.pages.head import DagRunState, Head, head_of, is_alive
from benchgate.pages.launch_view import Refusal, launch_views, refusals
from benchgate.pages.live import cell_states
from benchgate.pages.reading import Row, rows
from benchgate.pages.run_rows import find_run
from benchgate.pages.words import day, iso
from benchgate.pages.written import read_written
from benchgate.warehouse import tables as t
from benchgate.warehouse.tables.cell import LATENCIES, STATISTICS

HISTORY_NIGHTS = 60


@dataclass(frozen=True)
class Latency:
    """One latency of a cell, ms; all None when it is not a latency."""

    name: str
    meaning: str
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    n: int | None


@dataclass(frozen=True)
class ErrorKind:
    """All errors of one kind."""

    kind: str
    requests: int
    near_cap: int | None
    sample: str | None


@dataclass(frozen=True)
class EarlierNight:
    """The same cell on another night."""

    night: str | None
    run_id: str
    state: str
    decode_tok_s: float | None
    ttft_p50_ms: float | None
    tpot_p50_ms: float | None
    started_at: str | None


@dataclass(frozen=True)
class CellView:
    """Everything that the page of a cell shows."""

    head: Head
    cell: str
    launch: str
    arm: str
    place: str
    workload: str
    load_label: str
    users: int | None
    request_rate: float | None
    repeat: int
    state: str
    reason: str | None
    refused_by: str | None
    failure_kind: str | None
    failure_line: int | None
    facts: dict[str, Any]  # columns of the warehouse's cell table; unknown ones left out
    latencies: tuple[Latency, ...]
    refusals: tuple[Refusal, ...]
    errors: tuple[ErrorKind, ...]
    history: tuple[EarlierNight, ...]  # oldest first, this night included
    task: str


def cell_view(
    connection: Connection | None, campaign: str, run_id: str, cell: str, *, known: DagRunState | None = None
) -> CellView | None:
    """The page of one cell; None when the run, or this cell of it, does not exist."""
    found = find_run(connection, campaign, run_id)
    row = found.cell(cell) if found is not None else None
    if found is None or row is None:
        return None
    alive = is_alive(found, known)
    launches = launch_views(found, alive=alive)
    states = cell_states(found, launches, read_written(found.run["campaign_yaml"]), alive=alive)
    launch = next(one for one in found.launches if one["launch_id"] == row["launch_id"])
    of_cell = (v for v in found.verdicts if v["cell_id"] == row["cell_id"] or v["subject"] == launch["launch"])
    latency_columns = {f"{name}_{part}" for name in LATENCIES for part in (*(f"{s}_ms" for s in STATISTICS), "n")}
    return CellView(
        head=head_of(found, alive, known),
        cell=cell,
        launch=launch["launch"],
        arm=row["arm"],
        place=f"{row['host']}/{row['placement']}",
        workload=row["workload"],
        load_label=row["load_label"],
        users=row["users"],
        request_rate=row["request_rate"],
        repeat=row["repeat"],
        state=states[cell],
        reason=row["reason"],
        refused_by=row["refused_by"],
        failure_kind=launch["failure_kind"],
        failure_line=launch["failure_line_number"],
        facts={
            name: iso(value) if name == "started_at" else value
            for name, value in row.items()
            if value is not None and name not in latency_columns and name not in _IDENTITY
        },
        latencies=tuple(_latency(row, name, meaning) for name, meaning in LATENCIES.items()),
        refusals=refusals(of_cell),
        errors=_errors(connection, row) if connection is not None and found.loaded else (),
        history=_history(connection, campaign, row) if connection is not None else (),
        task=task_ids.cell_task(row),
    )


_IDENTITY = frozenset(
    [
        "cell_id",
        "run_id",
        "launch_id",
        "cell",
        "arm",
        "host",
        "placement",
        "workload",
        "load_label",
        "users",
        "request_rate",
        "repeat",
        "deselected",
        "end_state",
        "reason",
        "refused_by",
    ]
)


def _latency(row: Row, name: str, meaning: str) -> Latency:
    values = {statistic: row[f"{name}_{statistic}_ms"] for statistic in STATISTICS}
    return Latency(name=name, meaning=meaning, n=row[f"{name}_n"], **values)


def _errors(connection: Connection, row: Row) -> tuple[ErrorKind, ...]:
    table = t.error_group
    query = sa.select(table).where(table.c.cell_id == row["cell_id"]).order_by(table.c.requests.desc())
    return tuple(ErrorKind(e["kind"], e["requests"], e["near_cap"], e["sample"]) for e in rows(connection, query))


def _history(connection: Connection, campaign: str, row: Row) -> tuple[EarlierNight, ...]:
    """The newest nights of this very cell: the runs by their index, then one cell each by its unique key."""
    run, cell = t.campaign_run, t.cell
    newest = (
        sa.select(run.c.run_id, run.c.night, run.c.airflow_run_id, run.c.started_at)
        .where(run.c.campaign == campaign)
        .order_by(run.c.night.desc(), run.c.started_at.desc())
        .limit(HISTORY_NIGHTS)
        .subquery()
    )
    query = (
        sa.select(
            newest.c.night,
            newest.c.airflow_run_id,
            newest.c.started_at,
            cell.c.end_state,
            cell.c.deselected,
            cell.c.decode_tok_s,
            cell.c.ttft_p50_ms,
            cell.c.tpot_p50_ms,
        )
        .join(cell, sa.and_(cell.c.run_id == newest.c.run_id, cell.c.cell == row["cell"]))
        .order_by(newest.c.started_at)
    )
    return tuple(
        EarlierNight(
            night=day(one["night"]),
            run_id=one["airflow_run_id"],
            state="deselected" if one["deselected"] else one["end_state"],
            decode_tok_s=one["decode_tok_s"],
            ttft_p50_ms=one["ttft_p50_ms"],
            tpot_p50_ms=one["tpot_p50_ms"],
            started_at=iso(one["started_at"]),
        )
        for one in rows(connection, query)
    )
