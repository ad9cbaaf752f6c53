"""Percentiles of the request rows, kept; indexes that count what was published without touching a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

METRICS = ("ttft", "tpot", "e2e")
PERCENTS = (50, 90, 95, 99)


def upgrade() -> None:
    """Create the table, fill it from the request rows that are there, and exchange the indexes."""
    op.create_table(
        "request_percentile",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("ttft_n", sa.BigInteger(), nullable=False),
        sa.Column("ttft_p50_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p90_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p95_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p99_ms", sa.Double(), nullable=True),
        sa.Column("tpot_n", sa.BigInteger(), nullable=False),
        sa.Column("tpot_p50_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p90_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p95_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p99_ms", sa.Double(), nullable=True),
        sa.Column("e2e_n", sa.BigInteger(), nullable=False),
        sa.Column("e2e_p50_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p90_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p95_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p99_ms", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "cell_id", name=op.f("pk_request_percentile")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_request_percentile_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["cell_id"], ["cell.cell_id"], name=op.f("fk_request_percentile_cell_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_request_percentile_cell_id"), "request_percentile", ["cell_id"])
    _fill(op.get_bind())
    op.create_index(op.f("ix_launch_run_id_launch_id_simulated"), "launch", ["run_id", "launch_id", "simulated"])
    op.create_index(op.f("ix_cell_launch_id_end_state"), "cell", ["launch_id", "end_state"])
    op.drop_index(op.f("ix_cell_launch_id"), "cell")


def downgrade() -> None:
    """Drop the table and bring the old index back."""
    op.create_index(op.f("ix_cell_launch_id"), "cell", ["launch_id"])
    op.drop_index(op.f("ix_cell_launch_id_end_state"), "cell")
    op.drop_index(op.f("ix_launch_run_id_launch_id_simulated"), "launch")
    op.drop_table("request_percentile")


def _fill(connection: sa.Connection) -> None:
    """One cell at a time: a year of request rows does not fit into memory."""
    cells = connection.execute(
        sa.text(
            "SELECT c.run_id, c.cell_id FROM cell c WHERE EXISTS (SELECT 1 FROM request q WHERE q.cell_id = c.cell_id)"
        )
    ).all()
    values = sa.text(
        "SELECT ttft_ms, tpot_ms, e2e_ms FROM request WHERE cell_id = :cell_id AND phase = 'measured' AND status = 'ok'"
    )
    names = ["run_id", "cell_id"]
    for metric in METRICS:
        names += [f"{metric}_n", *(f"{metric}_p{percent}_ms" for percent in PERCENTS)]
    insert = sa.text(f"INSERT INTO request_percentile ({', '.join(names)}) VALUES (:{', :'.join(names)})")  # noqa: S608
    for run_id, cell_id in cells:
        found: dict[str, Any] = {"run_id": run_id, "cell_id": cell_id}
        rows = connection.execute(values, {"cell_id": cell_id}).all()
        for place, metric in enumerate(METRICS):
            known = sorted(row[place] for row in rows if row[place] is not None)
            found[f"{metric}_n"] = len(known)
            found |= {f"{metric}_p{percent}_ms": _percentile(known, percent) for percent in PERCENTS}
        connection.execute(insert, found)


def _percentile(values: Sequence[float], percent: int) -> float | None:
    """Linear interpolation between the two nearest ranks of sorted values."""
    if not values:
        return None
    place, part = divmod((len(values) - 1) * percent, 100)
    above = values[min(place + 1, len(values) - 1)]
    return values[place] + (above - values[place]) * part / 100
