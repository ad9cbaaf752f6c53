"""The tables of a run beside the comparison: what ended how, launches, nights, sources. Shared by all formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchgate.analysis.findings import IMPROVED, NOT_COMPARABLE, PASS, REGRESSED, UNDECIDED, RegressionFinding
from benchgate.analysis.measures import BY_NAME
from benchgate.report.model import RunReport
from benchgate.report.tables import SHORT_TITLES, UNKNOWN, Table, load_words, number, percent

ANSWERS = (REGRESSED, IMPROVED, UNDECIDED, NOT_COMPARABLE, PASS)
END_STATES = ("published", "unpublishable", "failed", "not_run")
STATE_WORDS = {
    "published": "published",
    "unpublishable": "unpublishable",
    "failed": "failed",
    "not_run": "did not run",
}


def outcome_table(report: RunReport) -> Table:
    """Every planned cell by arm, end state and reason: what did not run is as visible as what did."""
    groups = Counter((row.arm, row.end_state, row.reason or "") for row in report.ledger)
    rows = sorted(groups.items(), key=lambda item: (END_STATES.index(item[0][1]), item[0]))
    counts = ", ".join(f"{report.count(state)} {STATE_WORDS[state]}" for state in END_STATES)
    return Table(
        f"Planned cells: {counts}",
        ("cells", "arm", "end state", "reason"),
        tuple((str(n), arm, STATE_WORDS[state], reason) for (arm, state, reason), n in rows),
        numeric=frozenset({0}),
    )


def launch_table(report: RunReport) -> Table:
    """What each launch proved. Memory that the weights need and memory that the engine reserves stay apart."""
    rows = []
    for launch in report.launches:
        needles = f"{sum(n.found for n in launch.needles)}/{len(launch.needles)}" if launch.needles else UNKNOWN
        rows.append(
            (
                launch.launch,
                launch.failure_kind or launch.end_state,
                " ".join(filter(None, [launch.engine, launch.engine_version])) or UNKNOWN,
                launch.moe_kernel or UNKNOWN,
                number(launch.kv_tokens),
                number(launch.weights_gib),
                number(launch.memory_reserved_gib),
                number(launch.startup_s),
                needles,
            )
        )
    return Table(
        "Launches",
        ("launch", "end", "engine", "MoE kernel", "KV tokens", "weights GiB", "reserved GiB", "start s", "needles"),
        tuple(rows),
        numeric=frozenset({4, 5, 6, 7, 8}),
    )


def placement_table(report: RunReport) -> Table:
    """How much the placement mattered, and what an unswapped comparison would have claimed."""
    rows = []
    for c in report.comparisons:
        if not c.placement_effects and not c.unswapped:
            continue
        unit, digits = ("x", 2) if c.effect == "ratio" else ("", 4)
        effects = "; ".join(
            f"{e.placement} / {e.against} {e.point:.{digits}f}{unit} [{e.low:.{digits}f}, {e.high:.{digits}f}]"
            for e in c.placement_effects
        )
        claims = "; ".join(
            f"{c.arm} on {u.arm_placement} / {c.baseline} on {u.baseline_placement}: "
            f"{u.point:.{digits}f}{unit} {u.verdict}"
            for u in c.unswapped
        )
        paired = UNKNOWN if c.point is None else f"{c.point:.{digits}f}{unit} {c.verdict}"
        rows.append((c.context, SHORT_TITLES[c.metric], f"{c.arm} / {c.baseline}", paired, effects or UNKNOWN, claims))
    return Table(
        "Placement: paired result, placement effect, and what the unswapped comparison would have claimed",
        ("cell", "metric", "arms", "paired", "placement effect", "unswapped claim"),
        tuple(rows),
    )


def regression_table(findings: Iterable[RegressionFinding]) -> Table:
    """What moved, or may have moved. Series without news are counted in the notes, with their reason."""
    rows, quiet = [], Counter[str]()
    for f in findings:
        if f.since_night is None:
            quiet[f"{f.answer}: {_kind_of_reason(f)}"] += 1
            continue
        size = UNKNOWN if f.change is None else change_words(f)
        rows.append((f.answer, f.context, SHORT_TITLES[f.metric], size, f.reason))
    rows.sort(key=lambda row: (ANSWERS.index(row[0]), row))
    notes = [f"{count} series {text}" for text, count in quiet.most_common()]
    return Table(
        "Tonight against the nights before", ("answer", "series", "metric", "change", "why"), tuple(rows), tuple(notes)
    )


def _kind_of_reason(finding: RegressionFinding) -> str:
    """The reason without the numbers of the single series, so that equal reasons are counted together."""
    if finding.answer == PASS:
        return "no change; a relevant one would have been found."
    if finding.smallest_visible_change is not None:
        return "no change found, but the nights are too few or too noisy to see a relevant one."
    return finding.reason


def change_words(finding: RegressionFinding) -> str:
    """``-17.1 % [-19.0, -15.2]``."""
    if finding.change is None or finding.change_low is None or finding.change_high is None:
        return UNKNOWN
    if BY_NAME[finding.metric].effect == "ratio":
        return f"{percent(finding.change)} [{100 * finding.change_low:+.1f}, {100 * finding.change_high:+.1f}]"
    values = (finding.change, finding.change_low, finding.change_high)
    point, low, high = (f"{100 * value:+.2f}" for value in values)
    return f"{point} points [{low}, {high}]"


def reference_table(report: RunReport) -> Table:
    """Our numbers beside a source's; two machines, so the ratio is no verdict on either."""
    rows = [
        (
            v.source,
            v.arm,
            f"{v.workload}, {load_words(v.users, v.request_rate)}",
            SHORT_TITLES[v.metric],
            number(v.theirs, BY_NAME[v.metric].unit),
            number(v.ours, BY_NAME[v.metric].unit),
            str(v.repeats),
            UNKNOWN if v.ratio is None else f"{v.ratio:.2f}x",
            v.basis,
        )
        for v in report.versus
    ]
    return Table(
        "Beside the sources",
        (
            "source",
            "arm",
            "cell",
            "metric",
            "theirs (one run)",
            "ours (median)",
            "our repeats",
            "ours / theirs",
            "basis",
        ),
        tuple(rows),
        numeric=frozenset({4, 5, 6, 7}),
    )
