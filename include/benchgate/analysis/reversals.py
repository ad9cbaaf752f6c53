"""Where the order of two arms changes: the finding that one folded speed-up would have hidden."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from benchgate.analysis.findings import ONE_RUN, REFERENCE, Comparison, Reversal
from benchgate.analysis.measures import BY_NAME

SIGNIFICANT = "significant"

# Pairs of metrics of one cell whose disagreement is a finding. Each answers another question: how long until it
# starts, how fast it streams, how much the server does.
TRADE_OFFS = (("decode_tok_s", "ttft_p50_ms"), ("tpot_p50_ms", "ttft_p50_ms"), ("decode_tok_s", "tpot_p50_ms"))


def reversals(comparisons: Iterable[Comparison]) -> list[Reversal]:
    """Reversals among measured comparisons that were found (direction not 0), and among stated reference values.

    A measured single run never makes a reversal; a source's single runs do, labelled ``one run``.
    """
    found: list[Reversal] = []
    for group in _groups(c for c in comparisons if sign(c)):
        by_metric: dict[str, list[Comparison]] = defaultdict(list)
        by_context: dict[tuple[str, str], dict[str, Comparison]] = defaultdict(dict)
        for comparison in group:
            by_metric[comparison.metric].append(comparison)
            by_context[(comparison.workload, comparison.load)][comparison.metric] = comparison
        for rows in by_metric.values():
            found += [_reversal(a, b) for a in rows if sign(a) > 0 for b in rows if sign(b) < 0]
        for metrics in by_context.values():
            for one, other in TRADE_OFFS:
                if one in metrics and other in metrics and sign(metrics[one]) == -sign(metrics[other]):
                    ahead, behind = sorted((metrics[one], metrics[other]), key=sign, reverse=True)
                    found.append(_reversal(ahead, behind))
    return found


def _groups(comparisons: Iterable[Comparison]) -> Iterable[list[Comparison]]:
    pairs: dict[tuple[str, str, str, str], list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        pairs[(comparison.run, comparison.basis, comparison.baseline, comparison.arm)].append(comparison)
    return pairs.values()


def sign(comparison: Comparison) -> int:
    """+1 where the arm counts as ahead, -1 behind, 0 where nobody may say."""
    if comparison.design == REFERENCE:
        return comparison.leaning
    return comparison.direction


def _reversal(ahead: Comparison, behind: Comparison) -> Reversal:
    if ahead.metric != behind.metric:
        kind = "between metrics"
        text = (
            f"{ahead.arm} against {ahead.baseline} at {ahead.context}: ahead in {BY_NAME[ahead.metric].title} "
            f"({factor(ahead)}), but behind in {BY_NAME[behind.metric].title} ({factor(behind)})."
        )
    else:
        kind = "between loads" if ahead.workload == behind.workload else "between workloads"
        text = _sentence([ahead], [behind])
    label = ONE_RUN if ahead.design == REFERENCE else SIGNIFICANT
    return Reversal(kind, ahead, behind, label, text + _suffix(ahead))


def summaries(found: Iterable[Reversal]) -> list[str]:
    """The reversals in as few sentences as they need: one for a metric, all its places in it."""
    rows = list(found)
    texts = []
    grouped: dict[tuple[str, ...], list[Reversal]] = defaultdict(list)
    for reversal in rows:
        first = reversal.ahead
        if reversal.kind != "between metrics":
            grouped[(first.run, first.basis, first.baseline, first.arm, first.metric)].append(reversal)
    for group in grouped.values():
        ahead, behind = (list(dict.fromkeys(getattr(r, side) for r in group)) for side in ("ahead", "behind"))
        texts.append(_sentence(ahead, behind) + _suffix(ahead[0]))
    return texts + [reversal.text for reversal in rows if reversal.kind == "between metrics"]


def _sentence(ahead: Sequence[Comparison], behind: Sequence[Comparison]) -> str:
    first = ahead[0]
    return (
        f"{first.arm} against {first.baseline}, {BY_NAME[first.metric].title}: "
        f"ahead at {' and at '.join(map(words, ahead))}, but behind at {' and at '.join(map(words, behind))}."
    )


def words(comparison: Comparison) -> str:
    """``short-chat, 64 users (1.36x [1.30, 1.42])``."""
    return f"{comparison.context} ({factor(comparison)})"


def factor(comparison: Comparison) -> str:
    """The effect with its interval, or alone where there is none."""
    if comparison.point is None:
        return "unknown"
    unit, digits = ("x", 2) if comparison.effect == "ratio" else ("", 4)
    shown = f"{comparison.point:.{digits}f}{unit}"
    if comparison.low is None or comparison.high is None:
        return shown
    return f"{shown} [{comparison.low:.{digits}f}, {comparison.high:.{digits}f}]"


def _suffix(comparison: Comparison) -> str:
    if comparison.design == REFERENCE:
        return f" Single runs, stated by {comparison.basis}."
    notes = []
    if comparison.design.startswith("confounded"):
        notes.append(f" Each arm ran on its own placement: {comparison.design}.")
    if comparison.basis == "unpublishable":
        notes.append(" Measured on cells that a gate refused: not for publication.")
    return "".join(notes)
