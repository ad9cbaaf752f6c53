"""Whether an image is one that the campaign did not run the last time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.names import run_key
from benchgate.records import CellOutcome, EndState, GateResult, HostSeeds
from benchgate.steps.approving import changed_images
from benchgate.steps.context import CampaignRun
from benchgate.steps.images import last_used_digest
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.runs import campaign, launch_record, ledger_of
from tests.support.warehouses import bundle

TAG = "vllm/vllm-openai:nightly"
OLD, NEW = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


@pytest.fixture
def run(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    """A run on the host ``h`` whose campaign is called ``kernels``."""
    monkeypatch.setattr(CampaignRun, "campaign", campaign())
    return CampaignRun(run_key("kernels", "tonight"))


def _seeded(run: CampaignRun, pinned: str, previous: str | None = None) -> None:
    moved = {} if previous is None else {TAG: previous}
    run.save_seeds(HostSeeds(host="h", images={TAG: f"vllm/vllm-openai@{pinned}"}, previous_digests=moved))


@pytest.mark.parametrize(
    ("pinned", "moved_from", "last_ran", "asked"),
    [
        (NEW, OLD, OLD, True),  # the tag moved tonight
        (NEW, None, OLD, True),  # it moved on an earlier night that was rejected, or somebody pulled it by hand
        (NEW, OLD, NEW, False),  # the host was behind, the campaign was not
        (NEW, None, NEW, False),
        (NEW, OLD, None, True),  # the campaign never ran: what its host had is all there is to compare with
        (NEW, None, None, False),
    ],
)
def test_an_image_has_changed_when_it_is_not_what_the_campaign_last_ran(
    run: CampaignRun, pinned: str, moved_from: str | None, last_ran: str | None, asked: bool
) -> None:
    _seeded(run, pinned, moved_from)

    found = changed_images(run, "h", lambda name, image: last_ran if (name, image) == ("kernels", TAG) else None)

    assert found == ({TAG: (OLD, NEW)} if asked else {})


def test_a_rejected_image_is_asked_about_again_the_next_night(run: CampaignRun, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(url)
    spec = campaign()
    ran = ledger_of(spec, "kernels.first")
    launches = [launch_record(one, image=TAG, image_digest=OLD) for one in ran.launches]
    load_run(bundle("kernels.first", spec=spec, ledger=ran, launches=launches), url)
    rejected = ledger_of(spec, "kernels.second")  # nothing was started: no launch knows an image
    changes = {"state": "nothing_new", "nothing_new_reason": "the changed image was rejected by ada"}
    outcomes = [CellOutcome(cell=cell.cell, state=EndState.NOT_RUN, reason="rejected") for cell in rejected.cells]
    gates = GateResult(verdicts=[], quarantine=[], outcomes=outcomes)
    load_run(
        bundle("kernels.second", spec=spec, ledger=rejected, launches=[], cells=[], gates=gates, run_changes=changes),
        url,
    )
    _seeded(run, NEW)

    assert changed_images(run, "h", lambda name, image: last_used_digest(name, image, url)) == {TAG: (OLD, NEW)}
