"""Plain tables for terminals and Markdown. An unknown value is an en dash, never a 0."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchgate.analysis.findings import INCONCLUSIVE, Comparison
from benchgate.analysis.levels import Level
from benchgate.analysis.measures import BY_NAME, MAIN, MEASURES
from benchgate.analysis.reversals import factor
from benchgate.names import load_label

UNKNOWN = "–"
SHORT_TITLES = {
    "ttft_p50_ms": "TTFT p50",
    "ttfv_p50_ms": "TTFV p50",
    "tpot_p50_ms": "TPOT p50",
    "itl_p50_ms": "ITL p50",
    "e2e_p50_ms": "E2E p50",
    "decode_tok_s": "decode tok/s",
    "prefill_tok_s": "prefill tok/s",
    "error_rate": "error rate",
    "startup_s": "start s",
    "kv_tokens": "KV tokens",
}


@dataclass(frozen=True)
class Table:
    """A titled table of short texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numeric: frozenset[int] = frozenset()  # columns that are aligned to the right

    def text(self) -> str:
        """For a terminal: aligned by display width, no colour."""
        if not self.rows:
            return f"{self.title}\n  (none)\n"
        lines = [[_plain(value) for value in row] for row in (self.columns, *self.rows)]
        widths = [max(_width(line[i]) for line in lines) for i in range(len(self.columns))]
        out = [self.title]
        for number, line in enumerate(lines):
            cells = [_pad(value, widths[i], right=number > 0 and i in self.numeric) for i, value in enumerate(line)]
            out.append("  " + "  ".join(cells).rstrip())
            if number == 0:
                out.append("  " + "  ".join("-" * width for width in widths))
        out += [f"  {_plain(note)}" for note in self.notes]
        return "\n".join(out) + "\n"

    def markdown(self) -> str:
        """For Markdown: pipes and newlines in values are escaped, so that no value can break the table."""
        out = [f"### {escape_markdown(self.title)}", ""]
        if not self.rows:
            return "\n".join([*out, "(none)", ""])
        out.append("| " + " | ".join(map(escape_markdown, self.columns)) + " |")
        out.append("|" + "|".join("---:" if i in self.numeric else "---" for i in range(len(self.columns))) + "|")
        out += ["| " + " | ".join(map(escape_markdown, row)) + " |" for row in self.rows]
        out += ["", *(f"{escape_markdown(note)}  " for note in self.notes)] if self.notes else []
        return "\n".join(out) + "\n"


def _plain(text: str) -> str:
    """One line without control characters, so that a server's words cannot drive the terminal."""
    return "".join(" " if unicodedata.category(c)[0] == "C" else c for c in text)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def _pad(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def escape_markdown(text: str) -> str:
    """``text`` as one line of Markdown prose. HTML is escaped as well: most viewers would run it."""
    safe = _plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`|*_[]":
        safe = safe.replace(character, "\\" + character)
    return safe


def number(value: float | None, unit: str = "") -> str:
    """``value`` with three significant digits and thousands separators; an en dash when unknown."""
    if value is None:
        return UNKNOWN
    if unit == "share":
        return f"{100 * value:.2f} %"
    size = abs(value)
    digits = 0 if size >= 100 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A relative change as ``+4.2 %``."""
    return UNKNOWN if value is None else f"{100 * value:+.1f} %"


def load_words(users: int | None, request_rate: float | None) -> str:
    """``64 users`` or ``2.5 requests/s``; an en dash for facts of a launch."""
    if users is None and request_rate is None:
        return UNKNOWN
    if users is not None:
        return f"{users} user{'' if users == 1 else 's'}"
    return f"{request_rate:g} requests/s"


def _in_order(names: Iterable[str], only: Sequence[str] | None) -> list[str]:
    present = set(names)
    return [m.name for m in MEASURES if m.name in present and (only is None or m.name in only)]


def main_metrics(levels: Iterable[Level]) -> tuple[str, ...]:
    """The metrics that a reader looks at first; the error rate belongs to them once there was an error."""
    errors = any(level.metric == "error_rate" and level.middle > 0 for level in levels)
    return (*MAIN, "error_rate") if errors else MAIN


def level_table(levels: Sequence[Level], *, basis: str = "published", metrics: Sequence[str] | None = None) -> Table:
    """What each arm does: median of the repeats, each metric a column (``metrics``: only these, default all)."""
    rows = [level for level in levels if level.basis == basis]
    shown = _in_order((level.metric for level in rows), metrics)
    order: dict[tuple[str, str, int | None, float | None], dict[str, Level]] = {}
    for level in rows:
        if level.metric in shown:
            order.setdefault((level.workload, level.arm, level.users, level.request_rate), {})[level.metric] = level
    body = []
    for (workload, arm, users, rate), found in sorted(order.items(), key=_by_context):
        repeats = max(level.repeats for level in found.values())
        values = [number(found[m].middle if m in found else None, BY_NAME[m].unit) for m in shown]
        body.append((workload, load_words(users, rate), arm, str(repeats), *values))
    units = [f"{SHORT_TITLES[m]} ms" if BY_NAME[m].unit == "ms" else SHORT_TITLES[m] for m in shown]
    return Table(
        "Medians over repeats" if basis == "published" else "Measured, but refused by a gate: not for quoting",
        ("workload", "load", "arm", "repeats", *units),
        tuple(body),
        numeric=frozenset(range(3, 4 + len(shown))),
    )


def _by_context(item: tuple[tuple[str, str, int | None, float | None], object]) -> tuple[str, float, float, str]:
    workload, arm, users, rate = item[0]
    return workload, float(users or 0), rate or 0.0, arm


def verdict_words(comparison: Comparison) -> str:
    """``1.36x [1.30, 1.42] faster``; inconclusive ones say what they would have seen."""
    if comparison.point is None:
        return comparison.verdict
    text = f"{factor(comparison)} {comparison.verdict}"
    visible = comparison.smallest_visible
    if comparison.verdict == INCONCLUSIVE and visible is not None:
        text += f" (sees {visible_words(visible, comparison.effect)})"
    return text


def visible_words(visible: float, effect: str) -> str:
    """The smallest visible effect: ``12 %``, beyond a doubling ``3.4x``, for shares ``1.20 points``."""
    if effect == "difference":
        return f"{100 * visible:.2f} points"
    return f"{100 * visible:.3g} %" if visible < 1 else f"{1 + visible:.3g}x"


def comparison_table(
    comparisons: Sequence[Comparison], *, basis: str = "published", metrics: Sequence[str] | None = None
) -> Table:
    """Arms against their baseline: one line for workload, load and arm, each metric its own column.

    ``metrics`` picks the columns; default: all that were compared.
    """
    shown = _in_order((c.metric for c in comparisons if c.basis == basis), metrics)
    rows = [c for c in comparisons if c.basis == basis and c.metric in shown]
    order: dict[tuple[str, int | None, float | None, str, str], dict[str, Comparison]] = {}
    for c in rows:
        order.setdefault((c.workload, c.users, c.request_rate, c.arm, c.baseline), {})[c.metric] = c
    body, designs, notes = [], set(), []
    for (workload, users, rate, arm, base), found in order.items():
        values = [verdict_words(found[m]) if m in found else UNKNOWN for m in shown]
        body.append((workload, load_words(users, rate), f"{arm} / {base}", *values))
        designs |= {c.design for c in found.values()}
        refused = {c.reason for c in found.values() if c.verdict in ("refused", "no value")}
        notes += [f"{workload} {load_label(users, rate)}, {arm} / {base}: {reason}" for reason in sorted(refused)]
    pairing = f"Pairing: {', '.join(sorted(designs))}." if designs else ""
    if any("(sees " in value for row in body for value in row):
        notes.insert(0, "sees: the smallest effect that would have been found in 80 % of cases.")
    return Table(
        "Arms against the baseline (ratio, 95 % interval)"
        if basis == "published"
        else "Arms against the baseline, on cells that a gate refused: not for quoting",
        ("workload", "load", "arm / baseline", *(SHORT_TITLES[m] for m in shown)),
        tuple(body),
        tuple(filter(None, [pairing, *dict.fromkeys(notes)])),
    )
