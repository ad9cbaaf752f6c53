"""Percentiles from request rows, by the definition of docs/metrics.md, while the rows pass by on their way in.

The client made percentiles of the same requests when it measured; ``request_percentile_check`` sets the two beside
each other. Made once, because sorting a million rows again for every look at them takes seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchgate.warehouse import tables as t
from benchgate.warehouse.tables.percentile import CHECKED, PERCENTILES
from benchgate.warehouse.values import row

if TYPE_CHECKING:
    import pyarrow as pa


def percentile_row(requests: pa.Table, run_id: int, cell_id: int) -> dict[str, Any]:
    """The row of ``request_percentile`` for the request rows of one cell.

    Over successful measured requests; linear interpolation between the two nearest ranks. Without a value (no
    latencies, or none valid) n is 0 and the percentiles are NULL.
    """
    from pyarrow import compute as pc

    counted = pc.and_(pc.equal(requests["phase"], "measured"), pc.equal(requests["status"], "ok"))
    found: dict[str, Any] = {}
    for metric in CHECKED:
        values = requests[f"{metric}_ms"].filter(counted).drop_null().to_numpy()
        found[f"{metric}_n"] = len(values)
        if len(values):
            found |= _percentiles(metric, values)
    return row(t.request_percentile, run_id=run_id, cell_id=cell_id, **found)


def _percentiles(metric: str, values: Any) -> dict[str, float]:
    """By hand: numpy's own function costs ten times as much for a thousand values, and there are thousands of cells."""
    import numpy as np

    ordered, last = np.sort(values), len(values) - 1
    found = {}
    for percent in PERCENTILES:
        place, part = divmod(last * percent, 100)
        below, above = float(ordered[place]), float(ordered[min(place + 1, last)])
        found[f"{metric}_p{percent}_ms"] = below + (above - below) * part / 100
    return found
