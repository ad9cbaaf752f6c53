"""The page *Did not run*: which launches left cells without a measurement, why, and the line that says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages import task_ids
from benchgate.pages.reading import Row, chunks, pages_of, rows
from benchgate.pages.words import day, iso
from benchgate.warehouse import tables as t

RUNS_A_PAGE = 15


@dataclass(frozen=True)
class NotRun:
    """Cells of one launch that did not run for one reason."""

    launch: str
    arm: str
    place: str
    kind: str | None  # failure kind of the launch, or deselected
    reason: str | None
    line: int | None
    line_text: str | None
    expected: bool  # the campaign said that this arm would not run
    cells: tuple[str, ...]
    task: str


@dataclass(frozen=True)
class RunWithGaps:
    """A run of which not everything ran."""

    campaign: str
    run_id: str
    night: str | None
    started_at: str | None
    launches: tuple[NotRun, ...]


@dataclass(frozen=True)
class NotRunView:
    """The page *Did not run*."""

    runs: tuple[RunWithGaps, ...]  # newest first
    total: int  # runs with gaps
    page: int
    pages: int
    campaign: str | None
    campaigns: tuple[str, ...]  # to choose from
    everything: bool  # also what nobody asked for


def not_run_view(
    connection: Connection | None,
    allowed: Collection[str],
    *,
    campaign: str | None = None,
    everything: bool = False,
    page: int = 1,
) -> NotRunView:
    """What did not run, in the campaigns that the reader may see; only in ``campaign`` when it is one of them."""
    campaigns = tuple(sorted(allowed))
    chosen = campaign if campaign in campaigns else None
    looked = [chosen] if chosen else list(campaigns)
    if connection is None or not looked:
        return NotRunView((), 0, 1, 1, chosen, campaigns, everything)
    run, cell = t.campaign_run, t.cell
    gap = [cell.c.run_id == run.c.run_id, cell.c.end_state == "not_run"]
    if not everything:
        gap.append(sa.not_(cell.c.deselected))
    with_gaps = run.c.campaign.in_(looked) & sa.exists(sa.select(sa.literal(1)).where(*gap))
    total = int(connection.execute(sa.select(sa.func.count()).select_from(run).where(with_gaps)).scalar_one())
    pages = pages_of(total, RUNS_A_PAGE)
    page = min(page, pages)
    query = (
        sa.select(run.c.run_id, run.c.campaign, run.c.airflow_run_id, run.c.night, run.c.started_at)
        .where(with_gaps)
        .order_by(run.c.night.desc(), run.c.started_at.desc())
        .limit(RUNS_A_PAGE)
        .offset((page - 1) * RUNS_A_PAGE)
    )
    found = rows(connection, query)
    gaps = _gaps(connection, [row["run_id"] for row in found], everything)
    made = tuple(
        RunWithGaps(
            campaign=row["campaign"],
            run_id=row["airflow_run_id"],
            night=day(row["night"]),
            started_at=iso(row["started_at"]),
            launches=tuple(gaps.get(row["run_id"], ())),
        )
        for row in found
    )
    return NotRunView(made, total, page, pages, chosen, campaigns, everything)


def _gaps(connection: Connection, run_ids: Sequence[Any], everything: bool) -> Mapping[Any, list[NotRun]]:
    cell, launch = t.cell, t.launch
    found: list[Row] = []
    for part in chunks(run_ids):
        query = (
            sa.select(
                *(cell.c[name] for name in ("run_id", "cell", "reason", "deselected")),
                *(launch.c[name] for name in _LAUNCH),
            )
            .join(launch, launch.c.launch_id == cell.c.launch_id)
            .where(cell.c.run_id.in_(part), cell.c.end_state == "not_run")
            .order_by(launch.c.launch, cell.c.cell)
        )
        found += rows(connection, query if everything else query.where(sa.not_(cell.c.deselected)))
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in found:
        groups[(row["run_id"], row["launch"], row["deselected"], row["reason"])].append(row)
    by_run: dict[Any, list[NotRun]] = defaultdict(list)
    for (run_id, _, deselected, reason), cells in groups.items():
        first = cells[0]
        by_run[run_id].append(
            NotRun(
                launch=first["launch"],
                arm=first["arm"],
                place=f"{first['host']}/{first['placement']}",
                kind="deselected" if deselected else first["failure_kind"],
                reason=reason or first["failure_reason"],
                line=None if deselected else first["failure_line_number"],
                line_text=None if deselected else first["failure_line"],
                expected=first["expected"] == "did_not_run",
                cells=tuple(row["cell"] for row in cells),
                task=task_ids.telling_task(first),
            )
        )
    return by_run


_LAUNCH = [
    "launch",
    "arm",
    "host",
    "placement",
    "expected",
    "end_state",
    "failure_kind",
    "failure_reason",
    "failure_line_number",
    "failure_line",
    "started_at",
]
