"""Everything that the analysis finds about one campaign run: from the warehouse, and back into it."""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.analysis import read
from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.compare import compare
from benchgate.analysis.family import judge_night
from benchgate.analysis.findings import Comparison, RegressionFinding, Reversal
from benchgate.analysis.reference import (
    ReferenceCell,
    VersusReference,
    compare_references,
    versus_references,
)
from benchgate.analysis.reversals import reversals
from benchgate.analysis.series import NightlySeries, night_noise, nightly
from benchgate.analysis.write import write_run
from benchgate.warehouse.connect import open_warehouse, reading, shown
from benchgate.warehouse.migrate import require_current


@dataclass(frozen=True)
class RunFindings:
    """The findings, and the numbers that they rest on."""

    facts: read.RunFacts
    cells: tuple[MeasuredCell, ...]
    comparisons: tuple[Comparison, ...]
    reversals: tuple[Reversal, ...]
    series: tuple[NightlySeries, ...]
    regressions: tuple[RegressionFinding, ...]
    references: tuple[ReferenceCell, ...]
    reference_comparisons: tuple[Comparison, ...]
    reference_reversals: tuple[Reversal, ...]
    versus: tuple[VersusReference, ...]


def find(run: str, url: str | None = None, *, campaign: str | None = None) -> RunFindings:
    """Compare the arms of ``run`` (a run key, or ``latest``), judge its nights, set it beside its sources.

    Raises:
        WarehouseError: no such run, or no usable warehouse.
    """
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            facts = read.read_run(connection, run, campaign)
            past = read.read_cells(connection, read.history(connection, facts))
            cells = [cell for cell in past if cell.run == facts.run]
            references, baselines = read.read_references(connection)
    finally:
        engine.dispose()
    series = nightly(past)
    comparisons = compare(_baseline_first(cells, facts), facts.baselines or None, facts.home, night_noise(series))
    named = [cell for cell in references if cell.source in facts.sources]
    stated = compare_references(named, baselines)
    series = [one for one in series if one.nights[-1].run == facts.run]
    return RunFindings(
        facts=facts,
        cells=tuple(cells),
        comparisons=tuple(comparisons),
        reversals=tuple(reversals(comparisons)),
        series=tuple(series),
        regressions=tuple(judge_night(series)),
        references=tuple(named),
        reference_comparisons=tuple(stated),
        reference_reversals=tuple(reversals(stated)),
        versus=tuple(versus_references(cells, named, facts.sources)),
    )


def _baseline_first(cells: list[MeasuredCell], facts: read.RunFacts) -> list[MeasuredCell]:
    """Arms in the order in which the campaign file names them."""
    order = {arm: number for number, arm in enumerate(facts.home)}
    return sorted(cells, key=lambda cell: order.get(cell.arm, len(order)))


def find_and_write(run: str, url: str | None = None) -> RunFindings:
    """:func:`find`, and write the findings into the warehouse in place of the run's old ones."""
    findings = find(run, url)
    write_run(
        findings.facts.run,
        comparisons=findings.comparisons,
        reversals=findings.reversals,
        regressions=findings.regressions,
        url=url,
    )
    return findings
