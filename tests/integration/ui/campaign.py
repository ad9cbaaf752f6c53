"""The campaign that the browser starts and watches: the real engine, as small as it can be."""

from __future__ import annotations

from pathlib import Path

from tests.support.engine_model import engine_model

WATCHED = """\
campaign: watched
description: A campaign that a browser starts, watches and reads.
engine: llamacpp
tags: [test]
model:
  id: SmolLM2-135M-Instruct
  source: {{folder: "{folder}", file: "{file}"}}
args: {{ctx-size: 2048, parallel: 2, threads: 1, threads-batch: 1}}
arms:
  plain: {{placement: local/cpu, prove: {{threads: 1}}}}
  batched: {{placement: local/cpu, args: {{batch-size: 256}}, prove: {{threads: 1}}}}
  bad-flag: {{placement: local/cpu, expect: did_not_run, args: {{moe-backend: marlin}}}}
workloads:
  chat:
    {{dataset: synthetic, prompt_tokens: 32, max_tokens: 12, users: [1, 2], requests: 6, warmup_requests: 1,
     max_seconds: 60}}
gates:
  needle: {{context_tokens: 160, depths: [0.5], max_tokens: 32, seed: 20}}
limits: {{start_seconds: 120, stop_seconds: 5}}
"""
SECRET = """\
campaign: secret
description: A campaign that a guest may not read.
engine: vllm
image: vllm/vllm-openai:nightly
model: {id: openai/gpt-oss-20b}
arms:
  only: {placement: h200/quad-a}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 64, max_tokens: 32, users: [1, 8], requests: 10}
"""
ASKED_IMAGE = "127.0.0.1:{port}/engine:nightly"
ASKED = """\
campaign: asked
description: A campaign that asks before it measures an image that changed.
engine: vllm
image: {image}
model: {{id: made/up, source: {{host_path: "{folder}"}}}}
approvals: {{changed_image: true}}
arms:
  only: {{placement: dock/cpu}}
workloads:
  chat: {{dataset: synthetic, prompt_tokens: 16, max_tokens: 8, users: [1], requests: 2}}
limits: {{start_seconds: 30, stop_seconds: 2}}
"""
HOSTS = """\
hosts:
  local: {kind: process, placements: {cpu: {port: 0, note: all CPUs of this machine}}}
  dock: {docker_url: "unix:///var/run/docker.sock", home: /tmp, model_paths: [/], placements: {cpu: {}}}
  h200:
    docker_url: ssh://bench@h200.example.net
    placements: {quad-a: {gpus: [0, 1, 2, 3]}, quad-b: {gpus: [4, 5, 6, 7], port: 8001}}
"""


def write_include(folder: Path, registry_port: int) -> Path:
    """The include folder of the test's Airflow; one campaign has its image in a registry on ``registry_port``."""
    model = engine_model()
    campaigns = folder / "campaigns"
    campaigns.mkdir(parents=True)
    (campaigns / "watched.yaml").write_text(WATCHED.format(folder=model.parent, file=model.name))
    asked = ASKED.format(image=ASKED_IMAGE.format(port=registry_port), folder=model.parent)
    (campaigns / "asked.yaml").write_text(asked)
    (campaigns / "secret.yaml").write_text(SECRET)
    (folder / "hosts.yaml").write_text(HOSTS)
    return folder
