"""An arm's arguments against what its image said about itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchgate.hosts.docker import DockerHost
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import HostSpec
from benchgate.steps.arguments import argument_findings
from benchgate.steps.context import CampaignRun

IMAGE = "vllm/vllm-openai:nightly"
DIGEST = "sha256:" + "a" * 64
HELP = "usage: vllm serve\n  --moe-backend {auto,triton}\n  --max-model-len N\n"


def run_of(args: dict[str, object], *, kind: str = "docker", image: str | None = IMAGE) -> CampaignRun:
    """A planned run of one arm, as far as the check looks at it."""
    campaign = CampaignSpec.model_validate(
        {
            "campaign": "c",
            "engine": "vllm",
            "image": image,
            "model": {"id": "m"},
            "arms": {"a": {"placement": "h/p", "args": args}},
            "workloads": {"w": {"dataset": "synthetic", "prompt_tokens": 8, "users": [1]}},
        }
    )
    url = {"docker_url": "unix:///nowhere.sock"} if kind == "docker" else {}
    host = HostSpec.model_validate({"kind": kind, **url, "placements": {"p": {}}})
    return cast(
        CampaignRun,
        SimpleNamespace(
            run="c.night-1",
            campaign=campaign,
            launch=lambda key: SimpleNamespace(launch=key, arm="a", host="h"),
            places=lambda launch: (host, host.placements["p"]),
            seeds=lambda name: SimpleNamespace(images={IMAGE: f"vllm/vllm-openai@{DIGEST}"}),
            host=lambda name: DockerHost(name, host),
        ),
    )


@pytest.fixture
def known_help(benchgate_home: Path) -> None:
    """The image was asked before: its help is kept by digest."""
    folder = benchgate_home / "cache" / "help"
    folder.mkdir(parents=True)
    (folder / f"vllm-{DIGEST.replace(':', '-')}.txt").write_text(HELP)


def test_known_arguments_are_said_to_be_known(known_help: None) -> None:
    (finding,) = argument_findings(run_of({"moe-backend": "triton", "max-model-len": 4096}), "a@h/p")

    assert finding.ok
    assert "2" in finding.message


def test_an_unknown_argument_refuses_with_what_it_may_have_become(known_help: None) -> None:
    (finding,) = argument_findings(run_of({"moe-kernel-backend": "triton", "max-model-len": 4096}), "a@h/p")

    assert not finding.ok
    assert "args.moe-kernel-backend" in finding.message
    assert "--moe-backend" in finding.message
    assert finding.remedy


def test_a_host_without_images_is_not_asked(benchgate_home: Path) -> None:
    assert argument_findings(run_of({"anything": 1}, kind="process", image=None), "a@h/p") == []


def test_an_image_that_cannot_be_asked_refuses_nobody(benchgate_home: Path) -> None:
    run: Any = run_of({"anything": 1})

    (finding,) = argument_findings(run, "a@h/p")  # there is no engine behind that socket

    assert finding.ok
    assert "none was checked" in finding.message
