"""What a launch's other cells say about a cell, where the cell itself cannot: its first tokens came late. Pure.

The warm verdict holds a wait against the pace of prefill *in the same cell*. When every wave of a cell waits alike,
that wait is the pace, and nothing in the cell says that a prompt could be read faster. A heavier load does: more users
(or arrivals) of the same workload wait for more prompts, so their first tokens come later, never much sooner.

Measured on an H200: TTFT p50 of 16 users over that of 64 users was 0.4 and 0.6 with vLLM, and 2.1 with an SGLang whose
first prefill after a pause took a second.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchgate.records import CellRecord

MUCH = 1.5  # times; two measurements of the same load differ by less


def overtaken(cell: CellRecord, others: Iterable[CellRecord]) -> str | None:
    """How much sooner a heavier load of the same launch and workload got its first tokens; None when it did not."""
    mine = _ttft_ms(cell)
    if mine is None:
        return None
    heavier = [(theirs, other) for other in others if _is_heavier(other, cell) and (theirs := _ttft_ms(other))]
    best, by = min(heavier, key=lambda pair: pair[0], default=(mine, cell))
    if mine <= MUCH * best:
        return None
    return f"TTFT p50 was {mine:.0f} ms with {_load(cell)} and {best:.0f} ms with {_load(by)}, in the same launch"


def _ttft_ms(cell: CellRecord) -> float | None:
    """The median TTFT; None where it is no latency."""
    return cell.summary.ttft_ms.p50 if cell.summary and cell.summary.ttft_ms else None


def _is_heavier(other: CellRecord, cell: CellRecord) -> bool:
    if (other.launch, other.workload) != (cell.launch, cell.workload):
        return False
    if cell.users is not None and other.users is not None:
        return other.users > cell.users
    return cell.request_rate is not None and other.request_rate is not None and other.request_rate > cell.request_rate


def _load(cell: CellRecord) -> str:
    if cell.users is None:
        return f"{cell.request_rate:g} requests/s"
    return f"{cell.users} user{'s' if cell.users != 1 else ''}"
