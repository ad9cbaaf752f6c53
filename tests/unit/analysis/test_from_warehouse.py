"""Through the real tables and views of a SQLite warehouse; PostgreSQL has the same in tests/integration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from benchgate.analysis.findings_of_run import find, find_and_write
from benchgate.errors import WarehouseError
from benchgate.steps.reporting import nightly_message
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.runs import campaign, cell_record, launch_record, ledger_of, percentiles, summary
from tests.support.warehouses import bundle


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/warehouse.db"
    migrate(url)
    return url


def rows(url: str, sql: str) -> list[dict[str, object]]:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(sql)).mappings()]
    finally:
        engine.dispose()


def load_night(
    url: str, night: int, *, marlin: float = 1.36, level: float = 1000.0, digest: str = "a", name: str = "kernels"
) -> str:
    """A run of the kernels campaign: marlin = triton x ``marlin`` in throughput, 2 % noise."""
    rng = np.random.default_rng(night)
    spec, run = campaign(campaign=name), f"{name}.night-{night}"
    ledger = ledger_of(spec, run)
    cells = []
    for planned in ledger.cells:
        speed = level * (marlin if planned.arm == "marlin" else 1.0) * float(np.exp(rng.normal(0, 0.01)))
        measured = summary(decode_tok_s=speed, prefill_tok_s=speed * 2, tpot_ms=percentiles(1e4 / speed))
        cells.append(cell_record(planned, summary=measured))
    launches = [launch_record(one, image_digest=f"vllm@sha256:{digest * 64}") for one in ledger.launches]
    load_run(
        bundle(
            run,
            spec=spec,
            ledger=ledger,
            launches=launches,
            cells=cells,
            run_changes={"started_at": f"2026-11-{night:02d}T02:00:00+00:00"},
        ),
        url,
    )
    return run


def test_a_runs_comparisons_are_written_and_say_that_placement_confounds_them(url: str) -> None:
    run = load_night(url, 1)

    find_and_write(run, url)
    find_and_write(run, url)  # writing again replaces

    found = rows(url, "select * from comparison where metric = 'decode_tok_s' and workload = 'prompt-8k'")
    assert len(found) == 1
    assert found[0]["verdict"] == "faster"
    assert found[0]["design"] == "confounded by placement"
    assert found[0]["low"] < 1.36 < found[0]["high"]  # type: ignore[operator]
    assert found[0]["arm_repeats"] == 2


def test_a_regression_over_the_nights_reaches_the_view_with_what_changed(url: str) -> None:
    for night in range(1, 11):
        load_night(url, night)
    for night in (11, 12):
        load_night(url, night, level=830.0, digest="b")

    find_and_write("kernels.night-12", url)

    found = rows(url, "select * from regression where metric = 'decode_tok_s'")
    assert {row["answer"] for row in found} == {"REGRESSED"}
    assert all(-0.20 < float(row["change"]) < -0.14 for row in found)  # type: ignore[arg-type]
    assert all("image_digest" in str(row["what_changed"]) for row in found)
    assert {str(row["since_night"]) for row in found} == {"2026-11-11"}
    assert not rows(url, "select * from regression where answer = 'REGRESSED' and metric = 'ttft_p50_ms'")


def test_a_run_that_is_not_there_is_named_with_what_is(url: str) -> None:
    load_night(url, 1)

    with pytest.raises(WarehouseError, match=r"no run kernels\.night-9.*kernels\.night-1"):
        find("kernels.night-9", url)


def test_latest_is_the_newest_run(url: str) -> None:
    load_night(url, 3)
    load_night(url, 2)

    assert find("latest", url).facts.run == "kernels.night-3"


def test_later_nights_do_not_enter_the_history_of_an_earlier_run(url: str) -> None:
    for night in range(1, 5):
        load_night(url, night)

    found = find("kernels.night-2", url)

    assert {len(one.nights) for one in found.series} == {2}


def test_two_campaigns_of_one_night_make_one_message_and_a_calm_one_adds_nothing(url: str) -> None:
    names = ("kernels", "engines", "calm")
    for night in range(1, 6):
        for name in names:
            slow = night == 5 and name != "calm"
            load_night(url, night, level=600.0 if slow else 1000.0, digest="b" if slow else "a", name=name)
    tonight = [f"{name}.night-5" for name in names]
    for run in tonight:
        find_and_write(run, url)

    message = nightly_message(tonight, url)

    assert message is not None
    assert message.count(", night of 2026-11-05:") == 2
    assert "kernels, night of" in message
    assert "engines, night of" in message
    assert "calm" not in message
    assert nightly_message(["calm.night-5"], url) is None
