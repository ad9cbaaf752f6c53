"""What the inventory does not grant, a campaign's author cannot take: folders of a host, and images it may run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.spec.load import load_campaign, load_inventory
from benchgate.spec.safety_rules import is_within
from tests.unit.spec.writing import one, problems

HOSTS = """\
hosts:
  gpu:
    docker_url: tcp://gpu:2376
    home: /home/bench
    LIMITS
    placements: {a: {gpus: [0]}}
  here:
    kind: process
    placements: {cpu: {}}
"""
CAMPAIGN = """\
campaign: c
engine: vllm
image: vllm/vllm-openai:v1
model: {id: m, source: {host_path: PATH}}
arms:
  x: {placement: gpu/a}
workloads: {w: {dataset: sharegpt, users: [1]}}
"""


def inventory(folder: Path, limits: str):  # type: ignore[no-untyped-def]
    file = folder / "hosts.yaml"
    file.write_text(HOSTS.replace("LIMITS", limits))
    return load_inventory(file)


@pytest.mark.parametrize(
    ("limits", "path", "told"),
    [
        ("egress: false", "/data/models/m", "are none"),
        ("model_paths: [/data/models]", "/", "are /data/models"),
        ("model_paths: [/data/models]", "/data", "are /data/models"),
        ("model_paths: [/data/models]", "/data/models-of-others", "are /data/models"),
        ("model_paths: [/data/models]", "/var/run/docker.sock", "are /data/models"),
        ("model_paths: [/data/models]", "~/.ssh", "are /data/models"),
    ],
)
def test_a_folder_that_the_host_does_not_grant_is_refused(tmp_path: Path, limits: str, path: str, told: str) -> None:
    hosts = inventory(tmp_path, limits)

    found = one(problems(lambda file: load_campaign(file, hosts), tmp_path / "c.yaml", CAMPAIGN.replace("PATH", path)))

    assert found.field == "model.source.host_path"
    assert found.line == 4
    assert f"{path} may not be mounted on host gpu" in found.message
    assert told in found.message


@pytest.mark.parametrize("path", ["/data/models", "/data/models/m/", "~/models/m"])
def test_a_folder_that_the_host_grants_is_mounted(tmp_path: Path, path: str) -> None:
    hosts = inventory(tmp_path, "model_paths: [/data/models, /home/bench/models]")
    file = tmp_path / "c.yaml"
    file.write_text(CAMPAIGN.replace("PATH", path))

    assert load_campaign(file, hosts).model.source is not None


def test_the_models_of_an_arm_and_its_drafts_are_judged_too(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, "model_paths: [/data]")
    text = CAMPAIGN.replace("PATH", "/data/m").replace(
        "{placement: gpu/a}", "{placement: gpu/a, drafts: [{id: d, source: {host_path: /etc}}]}"
    )

    found = one(problems(lambda file: load_campaign(file, hosts), tmp_path / "c.yaml", text))

    assert "drafts" in found.field
    assert "/etc may not be mounted" in found.message


def test_an_image_that_the_host_does_not_run_is_refused(tmp_path: Path) -> None:
    hosts = inventory(tmp_path, 'images: ["lmsysorg/sglang:*", registry.example.net/*]\n    model_paths: [/data]')

    found = one(
        problems(lambda file: load_campaign(file, hosts), tmp_path / "c.yaml", CAMPAIGN.replace("PATH", "/data/m"))
    )

    assert "vllm/vllm-openai:v1 may not run on host gpu" in found.message


@pytest.mark.parametrize("image", ["lmsysorg/sglang:v9", "registry.example.net/team/vllm@sha256:" + "a" * 64])
def test_an_image_that_the_host_runs_is_taken(tmp_path: Path, image: str) -> None:
    hosts = inventory(tmp_path, 'images: ["lmsysorg/sglang:*", registry.example.net/*]\n    model_paths: [/data]')
    file = tmp_path / "c.yaml"
    file.write_text(CAMPAIGN.replace("PATH", "/data/m").replace("vllm/vllm-openai:v1", image))

    assert load_campaign(file, hosts).image == image


@pytest.mark.parametrize(
    "key", ["privileged: true", "mounts: [/]", "docker_args: [--privileged]", "volumes: [/:/host]"]
)
@pytest.mark.parametrize("where", ["{placement: gpu/a}", "top"])
def test_there_is_no_field_for_privileges_mounts_or_docker_arguments(tmp_path: Path, key: str, where: str) -> None:
    hosts = inventory(tmp_path, "model_paths: [/data]")
    text = CAMPAIGN.replace("PATH", "/data/m")
    text = f"{text}{key}\n" if where == "top" else text.replace(where, f"{{placement: gpu/a, {key}}}")

    assert problems(lambda file: load_campaign(file, hosts), tmp_path / "c.yaml", text)


def test_a_way_out_of_a_granted_folder_is_none() -> None:
    assert not is_within("/data/models/../../etc", ["/data/models"])
    assert is_within("/data/models/x", ["/data/models/"])
    assert not is_within("/data/models", [])
