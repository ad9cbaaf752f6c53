"""All series of one night together: among many cells some move by chance, and people hear of a change once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from benchgate.analysis.findings import CALLED, UNDECIDED, RegressionFinding
from benchgate.analysis.multiple import FALSE_DISCOVERIES, adjusted
from benchgate.analysis.night_noise import rules_of_night
from benchgate.analysis.nightly_rule import NIGHTLY_LEVEL
from benchgate.analysis.regression import announced, judge_alone
from benchgate.analysis.series import NightlySeries


def judge_night(series: Iterable[NightlySeries]) -> list[RegressionFinding]:
    """Every series of one campaign as of its newest night, corrected for how many there are.

    Among many cells some move by chance: a regression or improvement must survive Benjamini-Hochberg over all series
    judged tonight, so that a night of noise alone raises an alarm in at most 5 % of nights, however many cells. What
    the series of a metric scatter by is the noise that each of them is given while it has few nights of its own.

    A call is new tonight unless an earlier night, judged in the same way, said it: what the other series held back then
    is news now.
    """
    rows = list(series)

    @cache
    def of_night(back: int) -> dict[int, RegressionFinding]:
        """What was found so many nights ago, by place in ``rows``."""
        there = [index for index, one in enumerate(rows) if len(one.nights) > back]
        found = _corrected([rows[index].until(len(rows[index].nights) - back) for index in there])
        return dict(zip(there, found, strict=True))

    def earlier(index: int) -> Iterator[RegressionFinding]:
        return (of_night(back)[index] for back in range(1, len(rows[index].nights)))

    return [announced(rows[index], tonight, earlier(index)) for index, tonight in of_night(0).items()]


def _corrected(rows: Sequence[NightlySeries]) -> list[RegressionFinding]:
    """Each series by itself, then what survives among all of them."""
    findings = [judge_alone(one, rules) for one, rules in zip(rows, rules_of_night(rows), strict=True)]
    tested = [index for index, finding in enumerate(findings) if finding.p_value is not None]
    levels = adjusted([_p_of_a_call(findings[index]) for index in tested])
    for index, level in zip(tested, levels, strict=True):
        finding = replace(findings[index], adjusted_p=level)
        if finding.answer in CALLED and level > FALSE_DISCOVERIES:
            reason = (
                f"{finding.reason} Alone it would be called {finding.answer}, but among {len(tested)} series judged "
                f"tonight that happens by chance (adjusted p {level:.2f}); further nights decide."
            )
            finding = replace(finding, answer=UNDECIDED, reason=reason)
        findings[index] = finding
    return findings


def _p_of_a_call(finding: RegressionFinding) -> float:
    """An odd night is unlikely and not called: it must not make room for others among the calls."""
    p_value = finding.p_value if finding.p_value is not None else 1.0
    return 1.0 if p_value <= NIGHTLY_LEVEL and finding.answer not in CALLED else p_value
