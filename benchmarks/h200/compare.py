"""comparisons.csv of the H200 runs again, from the packed cells and by the rules of this version.

    PYTHONPATH=include python -m benchmarks.h200.compare RESULTS

The cells are packed with seven digits. On the completions endpoint every token is visible, so the time to first visible
token, which is not packed, is the time to first token; it counts in the correction for many comparisons.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchgate.analysis.cells import MeasuredCell, from_row
from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from benchgate.analysis.read import home_placements
from benchmarks.h200.pack import save

HOST = "h200-process"
METRICS = ("ttft_p50_ms", "tpot_p50_ms", "itl_p50_ms", "e2e_p50_ms", "decode_tok_s", "prefill_tok_s")
SHOWN = tuple(sorted(name for name in METRICS if name != "itl_p50_ms"))
COLUMNS = (
    *("run", "basis", "workload", "users", "metric", "arm", "baseline", "design", "effect", "verdict", "reason"),
    *("point", "low", "high", "arm_median", "baseline_median", "arm_repeats", "baseline_repeats"),
)
CAMPAIGNS = Path(__file__).resolve().parents[2] / "include" / "campaigns"


def cells_of(results: Path) -> dict[str, list[MeasuredCell]]:
    """The packed cells by run. All were refused: random weights find no needle."""
    found: dict[str, list[MeasuredCell]] = {}
    with (results / "cells.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            values: dict[str, Any] = {name: float(row[name]) for name in METRICS if row[name]}
            values["ttfv_p50_ms"] = values.get("ttft_p50_ms")
            completed, errors = int(row["completed"]), int(row["errors"])
            values |= {"users": int(row["users"]), "completed": completed, "errors": errors, "host": HOST}
            values |= {"error_rate": errors / (completed + errors), "end_state": "unpublishable"}
            found.setdefault(row["run"], []).append(from_row({**row, **values, "reason": "needle check 0/3"}))
    return found


def compared(results: Path) -> list[Comparison]:
    """Marlin against Triton in each run that has both."""
    found = []
    for run, cells in cells_of(results).items():
        if len({cell.arm for cell in cells}) < 2:
            continue
        home = home_placements((CAMPAIGNS / f"{run.rpartition('.')[0]}.yaml").read_text())
        found += compare(cells, "triton", home)
    order = {name: number for number, name in enumerate(cells_of(results))}
    return sorted(
        (one for one in found if one.metric in SHOWN),
        key=lambda one: (order[one.run], one.workload, one.users or 0, one.metric),
    )


def row_of(one: Comparison) -> dict[str, object]:
    """A row as ``pack.py`` takes it from the warehouse."""
    row: dict[str, object] = {name: getattr(one, name) for name in COLUMNS}
    for name in ("placement_effects", "unswapped"):
        rows = [asdict(part) for part in getattr(one, name)]
        row[name] = json.dumps(rows) if rows else None
    return row


def main(argv: Sequence[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    results = parser.parse_args(argv).results
    save(results, "comparisons", [row_of(one) for one in compared(results)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
