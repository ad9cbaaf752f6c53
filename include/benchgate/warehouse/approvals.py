"""People's answers of a run that is in the warehouse already; those of a run that is not loaded come with its load."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from benchgate.records import Approval
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.warehouse.load import take_turns
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.rows import approval_row, run_id_of


def add_approvals(run: str, approvals: Sequence[Approval], url: str | None = None) -> bool:
    """Write the answers that the warehouse does not have yet. False when the run is not loaded (yet).

    Raises:
        WarehouseError: the warehouse refuses; nothing is written.
    """
    if not approvals:
        return True
    migrate(url)
    engine = open_warehouse(url)
    run_id = run_id_of(run)
    try:
        with writing(engine) as connection:
            take_turns(connection, run_id)  # a load of this run that goes on would take a row away again
            if connection.scalar(sa.select(t.campaign_run.c.run_id).where(t.campaign_run.c.run_id == run_id)) is None:
                return False
            known = set(connection.scalars(sa.select(t.approval.c.approval_id).where(t.approval.c.run_id == run_id)))
            rows = [approval_row(run, approval) for approval in approvals]
            missing = [row for row in rows if row["approval_id"] not in known]
            if missing:
                connection.execute(sa.insert(t.approval), missing)
            return True
    finally:
        engine.dispose()
