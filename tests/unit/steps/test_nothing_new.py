"""A published image is measured again as soon as the campaign asks something else of it, and not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchgate.records import CellOutcome, EndState, Failure, FailureKind, HostSeeds
from benchgate.spec.campaign import CampaignSpec
from benchgate.steps import images, planning
from benchgate.steps.context import CampaignRun
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.runs import all_published, launch_record, ledger_of
from tests.support.warehouses import bundle

DIGEST = "sha256:" + "a" * 64
HOSTS = "hosts: {box: {docker_url: 'unix:///nowhere', model_paths: [/models], placements: {a: {}, b: {}}}}\n"
CAMPAIGN: dict[str, Any] = {
    "campaign": "mini",
    "engine": "llamacpp",
    "image": "engines/llamacpp:nightly",
    "model": {"id": "some/model", "source": {"host_path": "/models/model.gguf"}},
    "arms": {
        "one": {"placement": "box/a", "args": {"threads": 1}, "prove": {"threads": 1}},
        "bad": {"placement": "box/b", "args": {"no-such-flag": 1}, "expect": "did_not_run"},
    },
    "workloads": {
        "chat": {"dataset": "synthetic", "prompt_tokens": 48, "max_tokens": 16, "users": [1, 2], "requests": 6}
    },
    "gates": {"needle": {"context_tokens": 1024}},
}
FAILED = Failure(kind=FailureKind.BAD_FLAG, reason="no such flag")


def changed(*path: str, value: Any) -> dict[str, Any]:
    """The campaign with one value set."""
    made: dict[str, Any] = yaml.safe_load(yaml.safe_dump(CAMPAIGN))
    *folders, name = path
    at = made
    for folder in folders:
        at = at.setdefault(folder, {})
    at[name] = value
    return made


@pytest.fixture
def url(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A warehouse without runs, and a place for campaign files."""
    (benchgate_home / "include" / "campaigns").mkdir(parents=True)
    (benchgate_home / "include" / "hosts.yaml").write_text(HOSTS)
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(benchgate_home / "include"))
    made = f"sqlite:///{benchgate_home}/warehouse.db"
    migrate(made)
    return made


def load_night(url: str, *, bad: Failure = FAILED, ends: dict[str, EndState] | None = None) -> None:
    """Last night: arm ``one`` was measured on the image, and ``bad`` failed. ``ends``: cells that ended otherwise."""
    spec = CampaignSpec.model_validate(CAMPAIGN)
    ledger = ledger_of(spec, "mini.last")
    gates = all_published(ledger)
    outcomes = [
        CellOutcome(cell=cell.cell, state=EndState.NOT_RUN, reason="bad_flag")
        if cell.arm == "bad"
        else CellOutcome(cell=cell.cell, state=(ends or {}).get(cell.cell, EndState.PUBLISHED), reason="because")
        for cell in ledger.cells
    ]
    launches = [
        launch_record(
            planned,
            image_digest=DIGEST,
            **({"end_state": "failed", "ready_at": None, "failure": bad} if planned.arm == "bad" else {}),
        )
        for planned in ledger.launches
    ]
    made = bundle(
        "mini.last",
        spec=spec,
        ledger=ledger,
        launches=launches,
        gates=gates.model_copy(update={"outcomes": outcomes}),
        run_changes={"campaign_yaml": yaml.safe_dump(CAMPAIGN)},
    )
    load_run(made, url)


def reason_tonight(url: str, campaign: dict[str, Any], *, digest: str = DIGEST, **trigger: object) -> str | None:
    """Plan the campaign and find its image; why there is nothing to measure, or None."""
    file = Path(url.removeprefix("sqlite:///")).parent / "include" / "campaigns" / "mini.yaml"
    file.write_text(yaml.safe_dump(campaign))
    run = CampaignRun(planning.plan_run(file, "tonight", trigger).run)
    run.save_seeds(HostSeeds(host="box", images={"engines/llamacpp:nightly": f"engines/llamacpp@{digest}"}))
    return images._nothing_new(run, lambda name: images.published_digests(name, url))


def test_the_same_campaign_on_the_same_image_is_not_measured_again(url: str) -> None:
    load_night(url)

    assert "was published by an earlier run" in str(reason_tonight(url, CAMPAIGN))


@pytest.mark.parametrize(
    "campaign",
    [
        changed("arms", "one", "args", "threads", value=2),
        changed("arms", "one", "prove", "threads", value=2),
        changed("arms", "one", "env", "OMP_WAIT_POLICY", value="passive"),
        changed("arms", "one", "placement", value="box/b"),
        changed("arms", "two", value={"placement": "box/b"}),
        changed("arms", "bad", "expect", value="published"),
        changed("args", "ctx-size", value=4096),
        changed("model", "revision", value="other"),
        changed("gates", "needle", "context_tokens", value=2048),
        changed("workloads", "chat", "max_tokens", value=32),
        changed("workloads", "chat", "users", value=[1, 2, 4]),
        changed("workloads", "more", value={"dataset": "synthetic", "prompt_tokens": 9, "users": [1], "requests": 6}),
        changed("repeats", value=2),
    ],
    ids=lambda campaign: next((str(key) for key in campaign if campaign[key] != CAMPAIGN.get(key)), "same"),
)
def test_whatever_the_campaign_asks_anew_is_measured(url: str, campaign: dict[str, Any]) -> None:
    load_night(url)

    assert reason_tonight(url, campaign) is None


@pytest.mark.parametrize(
    "campaign",
    [
        changed("description", value="in other words"),
        changed("baseline", value="one"),
        changed("schedule", value="0 3 * * *"),
        changed("arms", "one", "note", value="as before"),
        changed("workloads", "chat", "users", value=[2]),
    ],
)
def test_what_changes_no_measurement_asks_for_none(url: str, campaign: dict[str, Any]) -> None:
    load_night(url)

    assert reason_tonight(url, campaign) is not None


def test_another_image_a_person_who_forces_it_and_an_empty_warehouse_measure(url: str) -> None:
    assert reason_tonight(url, CAMPAIGN) is None
    load_night(url)

    assert reason_tonight(url, CAMPAIGN, digest="sha256:" + "b" * 64) is None
    assert reason_tonight(url, CAMPAIGN, force=True) is None


@pytest.mark.parametrize(
    ("state", "done"),
    [(EndState.UNPUBLISHABLE, True), (EndState.FAILED, False), (EndState.NOT_RUN, False)],
)
def test_a_cell_that_broke_or_never_had_its_turn_is_measured_again(url: str, state: EndState, done: bool) -> None:
    load_night(url, ends={"one@box/a/chat/u2/r1": state})

    assert (reason_tonight(url, CAMPAIGN) is not None) == done


@pytest.mark.parametrize(
    "kind", [FailureKind.KILLED, FailureKind.LEASE_HELD, FailureKind.GPU_MEMORY_IN_USE, FailureKind.SEED_FAILED]
)
def test_an_arm_that_never_could_fail_as_it_should_is_tried_again(url: str, kind: FailureKind) -> None:
    load_night(url, bad=Failure(kind=kind, reason="nothing that its image did"))

    assert reason_tonight(url, CAMPAIGN) is None


def test_an_image_with_which_nothing_was_published_is_measured_again(url: str) -> None:
    refused = dict.fromkeys(["one@box/a/chat/u1/r1", "one@box/a/chat/u2/r1"], EndState.UNPUBLISHABLE)
    load_night(url, ends=refused)

    assert reason_tonight(url, CAMPAIGN) is None


def test_runs_without_a_readable_campaign_count_for_nothing(url: str) -> None:
    spec = CampaignSpec.model_validate(CAMPAIGN)
    ledger = ledger_of(spec, "mini.imported")
    launches = [launch_record(planned, image_digest=DIGEST) for planned in ledger.launches]
    load_run(
        bundle("mini.imported", spec=spec, ledger=ledger, launches=launches, run_changes={"campaign_yaml": ""}), url
    )

    assert images.published_digests("mini", url) == {DIGEST: set()}
