"""The page *Compare*: two arms of one night, or one arm on two nights; every metric on its own, with its interval."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from benchgate.analysis.levels import Level, levels
from benchgate.analysis.reversals import reversals, summaries
from benchgate.names import run_key
from benchgate.pages.measured import measured_cells
from benchgate.pages.nights import newest_runs
from benchgate.pages.reading import Row, rows
from benchgate.pages.words import day, iso
from benchgate.pages.written import Written, read_written
from benchgate.warehouse import tables as t

NIGHTS_TO_CHOOSE = 90
ARMS, NIGHTS = "arms", "nights"


@dataclass(frozen=True)
class Asked:
    """What the form sent. Anything that the campaign does not have is replaced by what it has."""

    campaign: str | None = None
    by: str = ARMS
    run: str | None = None  # Airflow's run id
    other: str | None = None  # the earlier run, when nights are compared
    arm: str | None = None
    baseline: str | None = None


@dataclass(frozen=True)
class RunChoice:
    """A night that can be chosen."""

    run_id: str
    night: str | None
    started_at: str | None


@dataclass(frozen=True)
class Changed:
    """A part of the fingerprint that differs between two nights."""

    placement: str
    part: str
    before: Any
    after: Any


@dataclass(frozen=True)
class CompareView:
    """The page *Compare*."""

    campaigns: tuple[str, ...]
    campaign: str | None
    by: str
    runs: tuple[RunChoice, ...]  # newest first
    run: RunChoice | None
    other: RunChoice | None
    arms: tuple[str, ...]
    arm: str | None
    baseline: str | None
    names: tuple[str, str]  # what the two sides are called: baseline, arm
    comparisons: tuple[Comparison, ...]
    reversed_in: frozenset[tuple[str, str, str]]  # (workload, load, metric) that are part of a reversal
    reversals: tuple[str, ...]
    levels: tuple[Level, ...]
    changed: tuple[Changed, ...]
    nothing: str | None = None  # why there is nothing to compare


def compare_view(connection: Connection | None, allowed: Collection[str], asked: Asked) -> CompareView:
    """Compare what was asked for, within the campaigns that the reader may see."""
    campaigns = tuple(sorted(allowed))
    campaign = asked.campaign if asked.campaign in campaigns else campaigns[0] if campaigns else None
    blank = CompareView(
        campaigns, campaign, ARMS, (), None, None, (), None, None, ("", ""), (), frozenset(), (), (), ()
    )
    if connection is None or campaign is None:
        return replace(blank, nothing="There is no loaded run yet: a campaign's first night makes one.")
    found = _runs(connection, campaign, (asked.run, asked.other))
    runs = tuple(RunChoice(r["airflow_run_id"], day(r["night"]), iso(r["started_at"])) for r in found)
    if not found:
        return replace(blank, nothing=f"{campaign} has no loaded run yet.")
    by_id = {row["airflow_run_id"]: row for row in found}
    run = by_id.get(asked.run or "", found[0])
    written = read_written(_yaml(connection, run))
    cells = sorted(
        measured_cells(connection, run), key=lambda c: (written.by_arm(c.arm), written.by_workload(c.workload))
    )
    blank = replace(blank, runs=runs, run=_choice(runs, run), arms=tuple(dict.fromkeys(cell.arm for cell in cells)))
    if asked.by == NIGHTS:
        return _nights(connection, replace(blank, by=NIGHTS), asked, run, found, cells)
    return _arms(blank, asked, cells, written)


def _runs(connection: Connection, campaign: str, wanted: Sequence[str | None]) -> list[Row]:
    """The newest runs, and those that were asked for by name when they are older."""
    listed = newest_runs(connection, campaign, NIGHTS_TO_CHOOSE)
    known = {row["airflow_run_id"] for row in listed}
    run = t.campaign_run
    older = [run_key(campaign, run_id) for run_id in dict.fromkeys(wanted) if run_id and run_id not in known]
    if older:
        columns = (run.c[name] for name in ("run_id", "run", "campaign", "airflow_run_id", "night", "started_at"))
        listed += rows(connection, sa.select(*columns).where(run.c.run.in_(older), run.c.campaign == campaign))
    return sorted(listed, key=lambda row: (str(iso(row["started_at"])), row["run"]), reverse=True)


def _yaml(connection: Connection, run: Row) -> str:
    query = sa.select(t.campaign_run.c.campaign_yaml).where(t.campaign_run.c.run_id == run["run_id"])
    return str(connection.execute(query).scalar_one())


def _choice(runs: Sequence[RunChoice], run: Row) -> RunChoice:
    return next(one for one in runs if one.run_id == run["airflow_run_id"])


def _arms(blank: CompareView, asked: Asked, cells: Sequence[MeasuredCell], written: Written) -> CompareView:
    arms = blank.arms
    if len(arms) < 2:
        return replace(blank, nothing="Comparing needs two arms that measured something on this night.")
    home = written.baseline if written.baseline in arms else arms[0]
    baseline = asked.baseline if asked.baseline in arms else home
    arm = asked.arm if asked.arm in arms and asked.arm != baseline else next(one for one in arms if one != baseline)
    # all arms of the night are compared, so that the adjustment for many comparisons is the report's
    found = [one for one in compare(cells, baseline=baseline) if one.arm == arm]
    return _filled(replace(blank, arm=arm, baseline=baseline, names=(baseline, arm)), found, cells, (baseline, arm))


def _nights(
    connection: Connection,
    blank: CompareView,
    asked: Asked,
    run: Row,
    found: Sequence[Row],
    cells: Sequence[MeasuredCell],
) -> CompareView:
    earlier = [row for row in found if row["run_id"] != run["run_id"]]
    if not earlier:
        return replace(blank, nothing="Comparing nights needs a second loaded night of this campaign.")
    before = [row for row in earlier if str(iso(row["started_at"])) < str(iso(run["started_at"]))]
    by_id = {row["airflow_run_id"]: row for row in earlier}
    other = by_id.get(asked.other or "") or (before or earlier)[0]
    old = measured_cells(connection, other)
    arms = blank.arms or tuple(dict.fromkeys(cell.arm for cell in old))
    blank = replace(blank, other=_choice(blank.runs, other), arms=arms)
    if not arms:
        return replace(blank, nothing="Neither night measured anything.")
    arm = asked.arm if asked.arm in arms else arms[0]
    names = _night_names(arm, other, run)
    both = [replace(cell, arm=names[0]) for cell in old if cell.arm == arm]
    both += [replace(cell, arm=names[1], run=other["run"]) for cell in cells if cell.arm == arm]
    changed = _changed(connection, other, run, arm)
    blank = replace(blank, arm=arm, names=names, changed=changed)
    if {cell.arm for cell in both} != set(names):
        return replace(blank, nothing=f"{arm} did not measure anything on one of the two nights.")
    return _filled(blank, compare(both, baseline=names[0]), both, names)


def _night_names(arm: str, other: Row, run: Row) -> tuple[str, str]:
    nights = str(day(other["night"])), str(day(run["night"]))
    if nights[0] == nights[1]:
        nights = str(iso(other["started_at"])), str(iso(run["started_at"]))
    if nights[0] == nights[1]:
        nights = other["airflow_run_id"], run["airflow_run_id"]
    return f"{arm} {nights[0]}", f"{arm} {nights[1]}"


def _filled(
    blank: CompareView, found: Sequence[Comparison], cells: Sequence[MeasuredCell], names: tuple[str, str]
) -> CompareView:
    if not found:
        return replace(blank, nothing="The two have no workload and load in common that both measured.")
    turned = reversals(found)
    marked = {(c.workload, c.load, c.metric) for reversal in turned for c in (reversal.ahead, reversal.behind)}
    return replace(
        blank,
        comparisons=tuple(found),
        reversed_in=frozenset(marked),
        reversals=tuple(summaries(turned)),
        levels=tuple(levels(cell for cell in cells if cell.arm in names)),
    )


def _changed(connection: Connection, other: Row, run: Row, arm: str) -> tuple[Changed, ...]:
    """What makes the arm another arm than before, placement by placement."""
    launch = t.launch
    query = sa.select(launch.c.run_id, launch.c.host, launch.c.placement, launch.c.fingerprint_parts).where(
        launch.c.run_id.in_((other["run_id"], run["run_id"])), launch.c.arm == arm
    )
    parts: dict[tuple[str, Any], dict[str, Any]] = {}
    for row in rows(connection, query):
        parts[(f"{row['host']}/{row['placement']}", row["run_id"])] = row["fingerprint_parts"] or {}
    changed = []
    for place in sorted({place for place, _ in parts}):
        before, after = parts.get((place, other["run_id"])), parts.get((place, run["run_id"]))
        if before and after:
            names = sorted({*before, *after})
            changed += [
                Changed(place, name, before.get(name), after.get(name))
                for name in names
                if before.get(name) != after.get(name)
            ]
    return tuple(changed)
