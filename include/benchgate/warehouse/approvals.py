"""Add a person's answer to a run that is in the warehouse already."""

from __future__ import annotations

import sqlalchemy as sa

from benchgate.names import stable_id
from benchgate.records import Approval
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.rows import run_id_of
from benchgate.warehouse.values import moment


def add_approval(run: str, approval: Approval, url: str | None = None) -> bool:
    """Write one answer; the same answer twice is one row. False when the run is not loaded (yet): it comes with it.

    Raises:
        WarehouseError: the warehouse refuses.
    """
    migrate(url)
    engine = open_warehouse(url)
    try:
        with writing(engine) as connection:
            run_id = run_id_of(run)
            if (
                connection.execute(sa.select(t.campaign_run.c.run_id).where(t.campaign_run.c.run_id == run_id)).first()
                is None
            ):
                return False
            known = connection.execute(sa.select(t.approval).where(t.approval.c.run_id == run_id)).mappings().all()
            answered = moment(approval.at, f"run {run}: approval")
            if any(row["point"] == approval.point and row["answered_at"] == answered for row in known):
                return True
            connection.execute(
                sa.insert(t.approval).values(
                    approval_id=stable_id("approval", run, approval.point, approval.at, str(len(known))),
                    run_id=run_id,
                    point=approval.point,
                    approved=approval.approved,
                    approved_by=approval.by,
                    answered_at=answered,
                    note=approval.note,
                )
            )
            return True
    finally:
        engine.dispose()
