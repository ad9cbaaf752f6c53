"""A seed step that fails: its own reason is what the launches say that need what it did not bring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate.airflow import task_steps
from benchgate.errors import BenchgateError, HostError, SeedError
from benchgate.records import Failure, FailureKind
from benchgate.seeding.image import ResolvedImage
from benchgate.seeding.image_pull import PullFailed, PullFailure
from benchgate.steps import driver, images, launching, planning, seeding
from benchgate.steps.context import CampaignRun
from benchgate.steps.driver import DriverOptions
from benchgate.steps.seed_failures import failure_kept, seed_failure
from benchgate.steps.server_request import server_spec

HOSTS = """
hosts:
  here: {kind: process, placements: {cpu: {}}}
  away: {docker_url: "tcp://127.0.0.1:1", placements: {cpu: {}}}
  untrusted:
    docker_url: "tcp://127.0.0.1:1"
    tls: {ca: /no/such/ca.pem, cert: /no/such/cert.pem, key: /no/such/key.pem}
    placements: {cpu: {}}
"""
CAMPAIGN = """
campaign: c
engine: llamacpp
image: engines/llamacpp:nightly
model: {id: m, source: {folder: /no/such/folder}}
arms: {a: {placement: HOST/cpu}}
workloads: {chat: {dataset: DATASET, prompt_tokens: 8, max_tokens: 4, users: [1], requests: 2}}
"""
RunOn = Callable[..., CampaignRun]


@pytest.fixture
def run_on(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> RunOn:
    """A run that is planned on a host."""
    (benchgate_home / "hosts.yaml").write_text(HOSTS)
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))

    def plan(host: str, dataset: str = "synthetic") -> CampaignRun:
        text = CAMPAIGN.replace("HOST", host).replace("DATASET", dataset)
        if host == "here":
            text = text.replace("image: engines/llamacpp:nightly\n", "")
        if dataset != "synthetic":
            text = text.replace("prompt_tokens: 8, ", "")
        (benchgate_home / "c.yaml").write_text(text)
        return planning.plan_run(benchgate_home / "c.yaml", "night-1")

    return plan


def seed_without_airflow(run: CampaignRun) -> None:
    driver._seed(run, DriverOptions(), lambda _: None)


def seed_as_tasks(run: CampaignRun) -> None:
    """As a DAG run does: after a task that failed the next ones do not run."""
    (host,) = {launch.host for launch in run.ledger.launches}
    docker = run.inventory.hosts[host].kind == "docker"
    context: Any = {"dag": SimpleNamespace(dag_id="c"), "run_id": "night-1"}
    for step in ("pull_image", "seed_model", "seed_dataset")[0 if docker else 1 :]:
        task: Any = SimpleNamespace(step=step, host=host, launch=None, cell=None, run_key=None)
        try:
            task_steps._STEPS[step](task, context)
        except BenchgateError:
            return


BOTH_WAYS = pytest.mark.parametrize("seed", [seed_without_airflow, seed_as_tasks])


@pytest.fixture(autouse=True)
def no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.airflow.warehouse.warehouse_url", lambda: None)
    monkeypatch.setattr("benchgate.airflow.secrets.secret_values", lambda _names: {})


def refused(run: CampaignRun) -> Failure:
    """What the record of the only launch says after its preflight."""
    (launch,) = run.ledger.launches
    with pytest.raises(BenchgateError):
        launching.preflight(run, launch.launch, run_is_over=lambda _: False, say=lambda _: None)
    record = run.launch_record(launch.launch)
    assert record is not None
    assert record.end_state == "failed"
    assert record.failure is not None
    return record.failure


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_args: object, **_options: object) -> None:
        raise error

    return fail


@BOTH_WAYS
def test_a_pull_that_failed_is_a_missing_image_with_its_own_reason_and_remedy(
    run_on: RunOn, monkeypatch: pytest.MonkeyPatch, seed: Callable[[CampaignRun], None]
) -> None:
    run = run_on("away")
    error = PullFailed("host away: cannot pull engines/llamacpp:nightly: unreachable", kind=PullFailure.UNREACHABLE)
    monkeypatch.setattr(images, "resolve_image", raising(error))

    seed(run)

    failure = refused(run)
    assert failure.kind is FailureKind.IMAGE_MISSING
    assert failure.reason == f"image engines/llamacpp:nightly is not on host away: {error}"


@BOTH_WAYS
@pytest.mark.parametrize(("host", "says"), [("away", "127.0.0.1:1"), ("untrusted", "/no/such/ca.pem")])
def test_a_host_that_does_not_answer_is_the_reason_itself(
    run_on: RunOn, seed: Callable[[CampaignRun], None], host: str, says: str
) -> None:
    run = run_on(host)

    seed(run)

    failure, kept = refused(run), seed_failure(run, host, "pull_image")
    assert kept is not None
    assert failure.kind is kept.kind is FailureKind.PREFLIGHT
    assert says in kept.reason
    assert kept.reason in failure.reason
    assert str(kept.remedy) in failure.reason
    assert "seed step first" not in failure.reason


@BOTH_WAYS
def test_a_model_that_was_not_seeded_says_why(run_on: RunOn, seed: Callable[[CampaignRun], None]) -> None:
    run = run_on("here")

    seed(run)

    failure = refused(run)
    assert failure.kind is FailureKind.SEED_FAILED
    assert failure.reason.startswith("model m@main is not on host here: ")
    assert "/no/such/folder" in failure.reason


def test_an_earlier_step_is_the_reason_of_what_never_ran(run_on: RunOn, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on("away")
    run.save_seeds(run.seeds("away").model_copy(update={"images": {"engines/llamacpp:nightly": "x@sha256:1"}}))
    with pytest.raises(SeedError), failure_kept(run, "away", "seed_vocab"):
        raise SeedError("vocabulary o200k_base has another sha256", remedy="correct the pin")

    failure = refused(run)

    assert failure.kind is FailureKind.SEED_FAILED
    assert failure.reason.endswith(": vocabulary o200k_base has another sha256 (correct the pin)")


@pytest.mark.parametrize("error", [ValueError("a bug"), KeyboardInterrupt("SIGTERM")])
def test_whatever_ends_a_seed_is_kept(run_on: RunOn, error: BaseException) -> None:
    run = run_on("here")

    with pytest.raises(type(error)), failure_kept(run, "here", "seed_model"):
        raise error

    failure = refused(run)
    assert failure.kind is (FailureKind.SEED_FAILED if isinstance(error, Exception) else FailureKind.KILLED)
    assert f"{type(error).__name__}: {error}" in failure.reason


def test_a_try_that_succeeds_forgets_the_one_before(run_on: RunOn) -> None:
    run = run_on("here")
    with pytest.raises(HostError), failure_kept(run, "here", "seed_dataset"):
        raise HostError("away")

    with failure_kept(run, "here", "seed_dataset"):
        pass

    assert seed_failure(run, "here", "seed_dataset") is None


def test_no_server_starts_beside_which_nothing_can_be_measured(run_on: RunOn) -> None:
    run = run_on("here", dataset="/no/such/conversations.json")
    run.save_seeds(run.seeds("here").model_copy(update={"models": {"m@main": "/models/m.gguf"}}))

    server_spec(run, "a@here/cpu")  # as long as nothing failed
    with pytest.raises(SeedError), failure_kept(run, "here", "seed_dataset"):
        seeding.seed_dataset(run, "here", say=lambda _: None)

    failure = refused(run)
    assert failure.kind is FailureKind.SEED_FAILED
    assert "there is no file /no/such/conversations.json" in failure.reason


def test_a_missing_secret_of_a_seed_task_is_told_by_the_launch(run_on: RunOn, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_on("away")
    monkeypatch.setattr("benchgate.airflow.secrets.secret_values", raising(SeedError("needs the secret HF_TOKEN")))

    seed_as_tasks(run)

    assert "needs the secret HF_TOKEN" in refused(run).reason


def test_an_image_that_cannot_be_pulled_keeps_no_other_from_being_pulled(
    run_on: RunOn, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_on("away")
    arms = (
        "arms: {a: {placement: away/cpu}, b: {placement: away/cpu, image: 'other:1'}, "
        "c: {placement: away/cpu, image: 'third:1'}}"
    )
    text = CAMPAIGN.replace("arms: {a: {placement: HOST/cpu}}", arms).replace("DATASET", "synthetic")
    (benchgate_home / "c.yaml").write_text(text)
    run = planning.plan_run(benchgate_home / "c.yaml", "night-2")

    def resolve(_engine: object, image: str, **_: object) -> ResolvedImage:
        if image == "other:1":
            digest = "sha256:" + "1" * 64
            return ResolvedImage("away", image, f"other@{digest}", digest, None, None, None, [], pulled=True)
        raise PullFailed(f"cannot pull {image}", kind=PullFailure.NO_SUCH_TAG)

    monkeypatch.setattr(images, "resolve_image", resolve)
    driver._seed(run, DriverOptions(), lambda _: None)

    kept = seed_failure(run, "away", "pull_image")
    assert list(run.seeds("away").images) == ["other:1"]
    assert kept is not None
    assert "cannot pull engines/llamacpp:nightly" in kept.reason
    assert "cannot pull third:1" in kept.reason


def test_a_model_that_cannot_be_had_keeps_no_other_from_being_seeded(
    run_on: RunOn, benchgate_home: Path, tmp_path: Path
) -> None:
    run_on("here")
    there = tmp_path / "there.gguf"
    there.write_bytes(b"GGUF")
    arms = (
        "arms: {a: {placement: here/cpu}, "
        f"b: {{placement: here/cpu, model: {{id: there, source: {{host_path: {there}}}}}}}}}"
    )
    text = CAMPAIGN.replace("arms: {a: {placement: HOST/cpu}}", arms).replace("DATASET", "synthetic")
    (benchgate_home / "c.yaml").write_text(text.replace("image: engines/llamacpp:nightly\n", ""))
    run = planning.plan_run(benchgate_home / "c.yaml", "night-2")

    driver._seed(run, DriverOptions(), lambda _: None)

    assert list(run.seeds("here").models) == ["there@main"]
    assert seed_failure(run, "here", "seed_model") is not None
