"""The page *Compare*: two arms of one night, or one arm on two nights; every metric on its own, with its interval."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.changed import what_changed
from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from benchgate.analysis.levels import Level, levels
from benchgate.analysis.read import RunFacts, campaign_text, read_cells, read_run
from benchgate.analysis.reversals import reversals, summaries
from benchgate.analysis.series import Night
from benchgate.names import run_key
from benchgate.pages.nights import newest_runs
from benchgate.pages.reading import Row, rows
from benchgate.pages.trend import TrendSeries, trend
from benchgate.pages.words import day, iso
from benchgate.pages.written import Written, read_written
from benchgate.warehouse import tables as t

NIGHTS_TO_CHOOSE = 90
ARMS, NIGHTS = "arms", "nights"
TREND_METRIC = "decode_tok_s"


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
    before: str | None
    after: str | None


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
    trend: tuple[TrendSeries, ...] = ()  # of the arm, when nights are compared: whether the two nights are usual ones
    trend_of: tuple[str, str] = ("", "")  # workload and load of it


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
    facts = read_run(connection, run["run"])
    written = read_written(campaign_text(connection, run["run_id"]))
    cells = read_cells(connection, [run["run_id"]])
    cells.sort(key=lambda cell: (written.by_arm(cell.arm), *_by_context(cell, written)))
    blank = replace(blank, runs=runs, run=_choice(runs, run), arms=tuple(dict.fromkeys(cell.arm for cell in cells)))
    if asked.by == NIGHTS:
        return _nights(connection, replace(blank, by=NIGHTS), asked, run, found, cells, written)
    return _arms(blank, asked, cells, facts)


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


def _by_context(cell: MeasuredCell, written: Written) -> tuple[tuple[int, str], float]:
    """Workloads as the file has them, each from the lightest load to the heaviest."""
    return written.by_workload(cell.workload), float(cell.users or cell.request_rate or 0)


def _choice(runs: Sequence[RunChoice], run: Row) -> RunChoice:
    return next(one for one in runs if one.run_id == run["airflow_run_id"])


def _arms(blank: CompareView, asked: Asked, cells: Sequence[MeasuredCell], facts: RunFacts) -> CompareView:
    arms = blank.arms
    if len(arms) < 2:
        return replace(blank, nothing="Comparing needs two arms that measured something on this night.")
    arm = asked.arm if asked.arm in arms else _first_compared(arms, asked.baseline, facts)
    home = facts.baselines.get(arm)
    baseline = asked.baseline if asked.baseline in arms and asked.baseline != arm else home
    if baseline not in arms or baseline == arm:
        baseline = next(one for one in arms if one != arm)
    # every arm of the night is compared as the report does it, so that the correction for many comparisons is the same
    found = compare(cells, facts.baselines if baseline == home else baseline, facts.home)
    mine = [one for one in found if one.arm == arm]
    return _filled(replace(blank, arm=arm, baseline=baseline, names=(baseline, arm)), mine, cells)


def _first_compared(arms: Sequence[str], baseline: str | None, facts: RunFacts) -> str:
    """The first arm that is not the baseline itself."""
    if baseline in arms:
        return next(arm for arm in arms if arm != baseline)
    return next((arm for arm in arms if facts.baselines.get(arm, arm) != arm), arms[1])


def _nights(
    connection: Connection,
    blank: CompareView,
    asked: Asked,
    run: Row,
    found: Sequence[Row],
    cells: Sequence[MeasuredCell],
    written: Written,
) -> CompareView:
    earlier = [row for row in found if row["run_id"] != run["run_id"]]
    if not earlier:
        return replace(blank, nothing="Comparing nights needs a second loaded night of this campaign.")
    before = [row for row in earlier if str(iso(row["started_at"])) < str(iso(run["started_at"]))]
    by_id = {row["airflow_run_id"]: row for row in earlier}
    other = by_id.get(asked.other or "") or (before or earlier)[0]
    old = sorted(read_cells(connection, [other["run_id"]]), key=lambda cell: _by_context(cell, written))
    arms = blank.arms or tuple(dict.fromkeys(cell.arm for cell in old))
    blank = replace(blank, other=_choice(blank.runs, other), arms=arms)
    if not arms:
        return replace(blank, nothing="Neither night measured anything.")
    arm = asked.arm if asked.arm in arms else arms[0]
    names = _night_names(arm, other, run)
    both = [replace(cell, arm=names[0]) for cell in old if cell.arm == arm]
    both += [replace(cell, arm=names[1]) for cell in cells if cell.arm == arm]
    changed = _changed([cell for cell in old if cell.arm == arm], [cell for cell in cells if cell.arm == arm])
    blank = replace(blank, arm=arm, names=names, changed=changed)
    if {cell.arm for cell in both} != set(names):
        return replace(blank, nothing=f"{arm} did not measure anything on one of the two nights.")
    filled = _filled(blank, compare(both, names[0]), both)
    at = _heaviest([one for one in filled.comparisons if one.metric == TREND_METRIC], written)
    if at is None:
        return filled
    shown = trend(connection, found, workload=at[0], load_label=at[1], metric=TREND_METRIC, arms=[arm])
    return replace(filled, trend=tuple(shown), trend_of=at)


def _heaviest(found: Sequence[Comparison], written: Written) -> tuple[str, str] | None:
    """The heaviest load of the first workload of the file."""
    if not found:
        return None
    first = min(found, key=lambda one: (written.by_workload(one.workload), -float(one.users or one.request_rate or 0)))
    return first.workload, first.load


def _night_names(arm: str, other: Row, run: Row) -> tuple[str, str]:
    nights = str(day(other["night"])), str(day(run["night"]))
    if nights[0] == nights[1]:
        nights = str(iso(other["started_at"])), str(iso(run["started_at"]))
    if nights[0] == nights[1]:
        nights = other["airflow_run_id"], run["airflow_run_id"]
    return f"{arm} {nights[0]}", f"{arm} {nights[1]}"


def _filled(blank: CompareView, found: Sequence[Comparison], cells: Sequence[MeasuredCell]) -> CompareView:
    if not found:
        return replace(blank, nothing="The two have no workload and load in common that both measured.")
    turned = reversals(found)
    marked = {(c.workload, c.load, c.metric) for reversal in turned for c in (reversal.ahead, reversal.behind)}
    sides = [[cell for cell in cells if cell.arm == name] for name in blank.names]
    return replace(
        blank,
        comparisons=tuple(found),
        reversed_in=frozenset(marked),
        reversals=tuple(summaries(turned)),
        levels=tuple(levels([*sides[0], *sides[1]])),
    )


def _changed(before: Sequence[MeasuredCell], after: Sequence[MeasuredCell]) -> tuple[Changed, ...]:
    """What makes the arm another arm than on the earlier night, placement by placement."""
    old = {cell.placement: cell for cell in before}
    new = {cell.placement: cell for cell in after}
    return tuple(
        Changed(place, part, *values)
        for place in sorted(old.keys() & new.keys())
        for part, values in what_changed(_as_night(old[place]), _as_night(new[place])).items()
    )


def _as_night(cell: MeasuredCell) -> Night:
    return Night(cell.night, cell.run, 0.0, fingerprint=cell.fingerprint, facts=cell.facts)
