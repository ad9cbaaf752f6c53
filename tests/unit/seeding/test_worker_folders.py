"""Which of a worker's own files a campaign may send to a GPU host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.errors import SeedError
from benchgate.seeding.dataset import seed_dataset
from benchgate.seeding.model_folder import seed_folder_model
from benchgate.spec.campaign import ModelSource, ModelSpec

CONVERSATIONS = json.dumps([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}])


@pytest.fixture
def granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder that campaigns may read."""
    folder = tmp_path / "granted"
    folder.mkdir()
    monkeypatch.setenv("BENCHGATE_WORKER_FOLDERS", str(folder))
    return folder


def seeded(folder: Path, file: str | None = None) -> str | None:
    return seed_folder_model(ModelSpec(id="m", source=ModelSource(folder=str(folder), file=file))).path


def test_files_of_a_granted_folder_are_read(granted: Path) -> None:
    (granted / "set.json").write_text(CONVERSATIONS)

    assert seed_dataset(str(granted / "set.json")) is not None
    assert seeded(granted) == str(granted)


def test_secrets_of_the_worker_are_not_sent_to_a_gpu_host(granted: Path, tmp_path: Path) -> None:
    (tmp_path / "passwords.json").write_text(CONVERSATIONS)

    with pytest.raises(SeedError, match=r"passwords\.json is not in a folder of this worker that campaigns may read"):
        seed_dataset(str(tmp_path / "passwords.json"))
    with pytest.raises(SeedError, match="BENCHGATE_WORKER_FOLDERS is"):
        seeded(Path("/proc/self"))
    with pytest.raises(SeedError, match="campaigns may read"):
        seeded(granted / "..")


def test_a_link_out_of_the_folder_is_followed_before_it_is_judged(granted: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text(CONVERSATIONS)
    (granted / "link.json").symlink_to(tmp_path / "outside.json")

    with pytest.raises(SeedError, match="campaigns may read"):
        seed_dataset(str(granted / "link.json"))
    with pytest.raises(SeedError, match="campaigns may read"):
        seeded(granted, "link.json")


@pytest.mark.parametrize("executor", ["CeleryExecutor", "KubernetesExecutor", "CeleryExecutor,KubernetesExecutor"])
def test_workers_that_serve_other_people_are_careful_by_themselves(
    benchgate_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", executor)
    monkeypatch.delenv("BENCHGATE_WORKER_FOLDERS", raising=False)
    shared = benchgate_home / "shared"
    shared.mkdir()
    (shared / "set.json").write_text(CONVERSATIONS)
    (tmp_path / "set.json").write_text(CONVERSATIONS)

    assert seed_dataset(str(shared / "set.json")) is not None
    with pytest.raises(SeedError, match="campaigns may read"):
        seed_dataset(str(tmp_path / "set.json"))


def test_without_the_setting_whoever_writes_campaigns_is_this_user(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(CONVERSATIONS)

    assert seed_dataset(str(tmp_path / "set.json")) is not None
