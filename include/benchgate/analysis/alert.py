"""The one message of a night: what moved, how much, and what changed. Nothing moved: no message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.analysis.changed import in_words
from benchgate.analysis.findings import CALLED, IMPROVED, REGRESSED, RegressionFinding
from benchgate.analysis.measures import BY_NAME

MOST_LINES = 12


@dataclass(frozen=True)
class Alert:
    """A message for a notifier: plain text, no markup."""

    subject: str
    body: str
    regressed: int
    improved: int


def nightly_alert(
    campaign: str, night: str, findings: Iterable[RegressionFinding], link: str | None = None
) -> Alert | None:
    """One message for all that is new tonight; None when nothing is, or when it was said on an earlier night."""
    rows = list(findings)
    new = [f for f in rows if f.new_tonight and f.answer in CALLED]
    if not new:
        return None
    worse, better = ([f for f in new if f.answer == answer] for answer in (REGRESSED, IMPROVED))
    counts = ", ".join(f"{len(group)} {word}" for group, word in ((worse, "regressed"), (better, "improved")) if group)
    lines = [f"{campaign}, night of {night[:10]}: {counts} (of {len(rows)} series)."]
    for changes, group in _by_change([*worse, *better]):
        lines += ["", f"Changed: {changes}"]
        lines += [f"- {_line(finding)}" for finding in group[:MOST_LINES]]
        if len(group) > MOST_LINES:
            lines.append(f"- and {len(group) - MOST_LINES} more")
    older = [f for f in rows if f.answer == REGRESSED and not f.new_tonight]
    if older:
        lines += ["", f"Still regressed from earlier nights: {len(older)} series."]
    if link:
        lines += ["", link]
    return Alert(f"Benchgate: {campaign}: {counts}", "\n".join(lines), len(worse), len(better))


def _by_change(findings: list[RegressionFinding]) -> list[tuple[str, list[RegressionFinding]]]:
    """Findings that share what changed stand together, regressions first, the largest first."""
    groups: dict[str, list[RegressionFinding]] = defaultdict(list)
    for finding in findings:
        groups[in_words(finding.what_changed)].append(finding)
    return [
        (words, sorted(group, key=lambda f: (f.answer != REGRESSED, -abs(f.change or 0.0))))
        for words, group in groups.items()
    ]


def _line(finding: RegressionFinding) -> str:
    measure = BY_NAME[finding.metric]
    unit = "%" if measure.effect == "ratio" else "points"
    change, low, high = (100 * (v or 0.0) for v in (finding.change, finding.change_low, finding.change_high))
    since = f" since {finding.since_night[:10]}" if finding.since_night else ""
    return f"{finding.answer} {finding.context}: {measure.title} {change:+.1f} {unit} [{low:+.1f}, {high:+.1f}]{since}"
