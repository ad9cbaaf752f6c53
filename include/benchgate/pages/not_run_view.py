"""The page *Did not run*: which launches left cells without a measurement, why, and the line that says so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages import task_ids
from benchgate.pages.reading import Row, chunks, rows
from benchgate.pages.words import day, iso
from benchgate.warehouse import tables as t

RUNS_A_PAGE = 15
_LOOK_AT = 60  # runs at a time, of which most have a gap where one arm is expected not to run
_LARGEST_ID = 2**63 - 1
_POSITION = re.compile(r"(\d{4}-\d\d-\d\d)\.(\d{1,19})")


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
    newer: bool  # whether newer runs were left out
    older: str | None  # how the next page is asked for; None: there is none
    campaign: str | None
    campaigns: tuple[str, ...]  # to choose from
    everything: bool  # also what nobody asked for
    loaded: bool = False  # whether there is any run to look at


def not_run_view(
    connection: Connection | None,
    allowed: Collection[str],
    *,
    campaign: str | None = None,
    everything: bool = False,
    before: str | None = None,
) -> NotRunView:
    """What did not run, in the campaigns that the reader may see; only in ``campaign`` when it is one of them.

    ``before`` is the ``older`` of another page; anything else begins with the newest run. Nothing is counted: of years
    of nights only those are looked at that the page shows.
    """
    campaigns = tuple(sorted(allowed))
    chosen = campaign if campaign in campaigns else None
    looked = [chosen] if chosen else list(campaigns)
    if connection is None or not looked:
        return NotRunView((), False, None, chosen, campaigns, everything)
    position = _position(before)
    found = _with_gaps(connection, looked, everything, position)
    found, more = found[:RUNS_A_PAGE], len(found) > RUNS_A_PAGE
    older = f"{day(found[-1]['night'])}.{found[-1]['run_id']}" if more else None
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
    loaded = bool(made) or _any_run(connection, looked)
    return NotRunView(made, position is not None, older, chosen, campaigns, everything, loaded)


def _any_run(connection: Connection, campaigns: Sequence[str]) -> bool:
    run = t.campaign_run
    return connection.scalar(sa.select(run.c.run_id).where(run.c.campaign.in_(campaigns)).limit(1)) is not None


def _position(before: str | None) -> tuple[date, int] | None:
    """Night and id of the run that a page begins behind."""
    parts = _POSITION.fullmatch(before or "")
    try:
        return (date.fromisoformat(parts[1]), min(int(parts[2]), _LARGEST_ID)) if parts else None
    except ValueError:
        return None


def _with_gaps(
    connection: Connection, campaigns: Sequence[str], everything: bool, position: tuple[date, int] | None
) -> list[Row]:
    """The newest runs behind ``position`` that have a gap: one more than a page shows, when there are so many."""
    run, cell = t.campaign_run, t.cell
    found: list[Row] = []
    while len(found) <= RUNS_A_PAGE:
        query = sa.select(run.c.run_id, run.c.campaign, run.c.airflow_run_id, run.c.night, run.c.started_at).where(
            run.c.campaign.in_(campaigns)
        )
        if position is not None:
            night, run_id = position
            query = query.where(sa.or_(run.c.night < night, sa.and_(run.c.night == night, run.c.run_id < run_id)))
        part = rows(connection, query.order_by(run.c.night.desc(), run.c.run_id.desc()).limit(_LOOK_AT))
        gap = sa.select(cell.c.run_id).where(
            cell.c.run_id.in_([row["run_id"] for row in part]), cell.c.end_state == "not_run"
        )
        gap = gap if everything else gap.where(sa.not_(cell.c.deselected))
        with_gap = {row["run_id"] for row in rows(connection, gap.distinct())}
        found += [row for row in part if row["run_id"] in with_gap]
        if len(part) < _LOOK_AT:
            break
        position = (date.fromisoformat(str(day(part[-1]["night"]))), part[-1]["run_id"])
    return found


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
