"""Fills the table ``cell_median`` from the view ``repeat_median``: computed once a load, read by every comparison."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.warehouse.tables import cell_median

_COLUMNS = tuple(cell_median.columns.keys())


def fold_repeats(connection: Connection, run_id: int | None = None) -> None:
    """Write the medians of one run that was just loaded, or (None) those of every run anew."""
    median = sa.table("repeat_median", *(sa.column(name) for name in _COLUMNS))
    chosen = sa.select(*(median.c[name] for name in _COLUMNS))
    if run_id is None:
        connection.execute(sa.delete(cell_median))
    else:
        chosen = chosen.where(median.c.run_id == run_id)
    connection.execute(sa.insert(cell_median).from_select(_COLUMNS, chosen))
