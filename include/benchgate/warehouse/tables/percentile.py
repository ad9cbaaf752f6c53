"""Percentiles made of the request rows when they are loaded: the second opinion about those that the client stored."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from benchgate.warehouse.tables.base import column, metadata, parent

# metric -> what it is; each is made of the column ``{metric}_ms`` of ``request``
CHECKED = {"ttft": "time to first token", "tpot": "time per output token", "e2e": "time to last token"}
PERCENTILES = (50, 90, 95, 99)


def _columns() -> list[sa.Column[Any]]:
    columns = []
    for name, meaning in CHECKED.items():
        columns.append(column(f"{name}_n", sa.BigInteger(), f"request rows that have a {meaning}", required=True))
        columns += [
            column(f"{name}_p{p}_ms", sa.Double(), f"p{p} of {meaning} over them, ms; NULL when there are none")
            for p in PERCENTILES
        ]
    return columns


request_percentile = sa.Table(
    "request_percentile",
    metadata,
    parent("run_id", "campaign_run.run_id", "the run", key=True),
    parent("cell_id", "cell.cell_id", "the cell", key=True),
    *_columns(),
    sa.Index(None, "cell_id"),
    comment="Percentiles of the successful measured requests of a cell, made while they were loaded; they stay when "
    "the request rows go.",
)
