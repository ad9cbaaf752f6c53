"""Answers that people give while their run is being loaded again and again, on PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from benchgate.records import Approval
from benchgate.warehouse.approvals import add_approvals
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.postgres import fresh_database
from tests.support.warehouses import bundle, rows

pytestmark = pytest.mark.postgres
RUN = "kernels.night-1"


def test_no_answer_is_refused_or_lost_while_its_run_is_replaced() -> None:
    answers = [
        Approval(point="regression", approved=True, by="ada", at=f"2026-11-30T05:00:{second:02d}Z")
        for second in range(12)
    ]
    with fresh_database() as url:
        migrate(url)

        def load() -> None:
            for number in range(12):
                load_run(bundle(RUN, run_changes={"benchgate_version": f"0.1.{number}"}), url)

        def answer(one: Approval) -> None:
            add_approvals(RUN, [one], url)

        with ThreadPoolExecutor(4) as pool:
            loading = pool.submit(load)
            list(pool.map(answer, answers))
            loading.result()
        add_approvals(RUN, answers, url)  # what a load does when it is done

        assert rows(url, "SELECT count(*) AS answers FROM approval") == [{"answers": len(answers)}]
