"""Numbers that others stated: compared among themselves as they were stated, and set beside ours. Never mixed in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.findings import ONE_RUN, REFERENCE, Comparison, context_words
from benchgate.analysis.measures import BY_NAME, MEASURES


@dataclass(frozen=True)
class ReferenceCell:
    """What a source states about one arm at one workload and load; values by measure name, in the measure's unit."""

    source: str
    arm: str
    workload: str
    users: int | None
    values: Mapping[str, float]
    request_rate: float | None = None


@dataclass(frozen=True)
class VersusReference:
    """Our number beside a source's. ``ratio`` is ours / theirs; it compares two machines, not two arms."""

    run: str
    campaign: str
    source: str
    arm: str
    workload: str
    users: int | None
    request_rate: float | None
    metric: str
    ours: float  # median of the repeats
    repeats: int
    theirs: float
    ratio: float | None
    basis: str  # published | unpublishable

    @property
    def context(self) -> str:
        """Workload and load in words."""
        return context_words(self.workload, self.users, self.request_rate)


def compare_references(cells: Iterable[ReferenceCell], baselines: Mapping[str, str] | None = None) -> list[Comparison]:
    """Arms of one source against that source's baseline; each a single run, so a ratio without an interval.

    ``baselines`` maps source -> arm. Where it is silent the baseline is the arm that is behind in most throughput
    cells, so that ratios read as the gain that a write-up would state.
    """
    found = []
    by_source: dict[str, list[ReferenceCell]] = defaultdict(list)
    for cell in cells:
        by_source[cell.source].append(cell)
    for source, stated in by_source.items():
        base = (baselines or {}).get(source) or default_baseline(stated)
        at = {(cell.workload, cell.users, cell.request_rate, cell.arm): cell for cell in stated}
        for cell in stated:
            other = at.get((cell.workload, cell.users, cell.request_rate, base))
            if cell.arm == base or other is None:
                continue
            for measure in MEASURES:
                ours, theirs = cell.values.get(measure.name), other.values.get(measure.name)
                if ours is not None and theirs is not None and (measure.effect == "difference" or theirs > 0):
                    found.append(_stated(cell, other, measure.name, ours, theirs))
    return found


def _stated(cell: ReferenceCell, other: ReferenceCell, metric: str, ours: float, theirs: float) -> Comparison:
    effect = BY_NAME[metric].effect
    return Comparison(
        run="",
        campaign="",
        workload=cell.workload,
        users=cell.users,
        request_rate=cell.request_rate,
        metric=metric,
        baseline=other.arm,
        arm=cell.arm,
        basis=cell.source,
        design=REFERENCE,
        effect=effect,
        verdict=ONE_RUN,
        reason=f"stated by {cell.source}: single runs, no interval",
        point=ours / theirs if effect == "ratio" else ours - theirs,
        baseline_median=theirs,
        arm_median=ours,
        baseline_repeats=1,
        arm_repeats=1,
    )


def default_baseline(cells: list[ReferenceCell]) -> str:
    """The arm with the lowest throughput in most cells; the first named when none leads."""
    losses: dict[str, int] = {cell.arm: 0 for cell in cells}
    groups: dict[tuple[str, int | None, float | None], list[ReferenceCell]] = defaultdict(list)
    for cell in cells:
        if "decode_tok_s" in cell.values:
            groups[(cell.workload, cell.users, cell.request_rate)].append(cell)
    for group in groups.values():
        if len(group) > 1:
            losses[min(group, key=lambda cell: cell.values["decode_tok_s"]).arm] += 1
    return max(losses, key=lambda arm: losses[arm])


def versus_references(
    cells: Iterable[MeasuredCell], references: Iterable[ReferenceCell], sources: Iterable[str]
) -> list[VersusReference]:
    """Our medians beside what the campaign's ``sources`` state for the arm, workload and load of the same names."""
    wanted = set(sources)
    ours: dict[tuple[str, str, int | None, float | None], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        if cell.end_state in ("published", "unpublishable"):
            ours[(cell.arm, cell.workload, cell.users, cell.request_rate)].append(cell)
    found = []
    for reference in references:
        group = ours.get((reference.arm, reference.workload, reference.users, reference.request_rate), [])
        if reference.source not in wanted or not group:
            continue
        published = [cell for cell in group if cell.end_state == "published"]
        rows = published or group
        for metric, theirs in reference.values.items():
            if metric not in BY_NAME:
                continue
            values = [v for cell in rows if (v := cell.value(BY_NAME[metric])) is not None]
            if values:
                middle = median(values)
                found.append(
                    VersusReference(
                        run=rows[0].run,
                        campaign=rows[0].campaign,
                        source=reference.source,
                        arm=reference.arm,
                        workload=reference.workload,
                        users=reference.users,
                        request_rate=reference.request_rate,
                        metric=metric,
                        ours=middle,
                        repeats=len(values),
                        theirs=theirs,
                        ratio=middle / theirs if theirs else None,
                        basis="published" if published else "unpublishable",
                    )
                )
    return found
