"""A DAG run ends as the campaign's verdict says, whatever failed on the way; without a verdict it failed.

The scheduler's own rules are asked: trigger rules, setups and teardowns, and which tasks decide how a run ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.dags.conftest import ROOT

HOSTS = """
hosts:
  process: {kind: process, placements: {one: {}, two: {}}}
  docker: {docker_url: tcp://nowhere:2375, client_image: site/client:7, placements: {one: {}, two: {}}}
"""
CAMPAIGN = """
campaign: HOST
engine: llamacpp
image: some/engine:nightly
model: {id: m, vocab: [o200k_base], source: {folder: /nowhere}}
arms:
  a: {placement: HOST/one}
  next: {placement: HOST/one}
  beside: {placement: HOST/two}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 8, max_tokens: 4, users: [1, 2], requests: 2}
"""
STEPS = ("preflight", "start_server", "wait_ready", "prove_kernel", "needle_check")
CELLS = ("measure_chat_u1_r1", "measure_chat_u2_r1")
LAUNCH = (*STEPS, *CELLS, "stop_server")
STATES = {"S": "success", "F": "failed", "U": "upstream_failed", "-": "skipped"}
# What happens to arm a: how those of its tasks end that run, by themselves; how all of them are seen to have ended.
# A cell that runs although its launch may not be measured skips itself.
TO_AN_ARM: dict[str, tuple[dict[str, str], str]] = {
    "all is well": ({}, "SSSSSSSS"),
    "refused at preflight": ({"preflight": "F"}, "FUUUUUUU"),
    "not started": ({"start_server": "F"}, "SFUUUUUU"),
    "never ready": ({"wait_ready": "F", CELLS[0]: "-", CELLS[1]: "-"}, "SSFUU--S"),
    "another kernel": ({"prove_kernel": "F", CELLS[0]: "-", CELLS[1]: "-"}, "SSSFU--S"),
    "a needle lost": ({"needle_check": "F", CELLS[0]: "-", CELLS[1]: "-"}, "SSSSF--S"),
    "the first cell failed": ({CELLS[0]: "F"}, "SSSSSFSS"),
    "the last cell failed": ({CELLS[1]: "F"}, "SSSSSSFS"),
    "every cell failed": ({CELLS[0]: "F", CELLS[1]: "F"}, "SSSSSFFS"),
    "not stopped": ({"stop_server": "F"}, "SSSSSSSF"),
    "not asked for": ({"preflight": "-"}, "--------"),
}
TO_THE_RUN: dict[str, dict[str, str]] = {
    "a model cannot be seeded": {"seed_HOST.seed_model": "F"},
    "the vocabulary is another": {"seed_HOST.seed_vocab": "F"},
    "the last seed fails": {"seed_HOST.seed_dataset": "F"},
}
MARKS = ("failed", "success")  # by somebody, in the UI or over REST, while a cell is measured
WITHOUT_A_VERDICT = ("plan", "validate", "load")  # a run that was not planned cannot be validated either
ARMS = ("a", "next", "beside")


def ends_of_arm(arm: str, host: str, ends: dict[str, str]) -> dict[str, str]:
    """Task ids with states, of an arm's tasks with letters."""
    place = "two" if arm == "beside" else "one"
    return {f"{arm}--{host}--{place}.{task}": STATES[letter] for task, letter in ends.items()}


def runs_of(host: str) -> dict[str, dict[str, str]]:
    """Every run that is walked, by its name, as ends of its tasks."""
    runs: dict[str, dict[str, str]] = {}
    refused = {task: end for arm in ARMS for task, end in ends_of_arm(arm, host, {"preflight": "F"}).items()}
    for verdict in ("success", "failed"):
        for name, (ends, _) in TO_AN_ARM.items():
            runs[f"{name}, {verdict}"] = {**ends_of_arm("a", host, ends), "verdict": verdict}
        for name, ends in TO_THE_RUN.items():
            seeds = {task.replace("HOST", host): STATES[letter] for task, letter in ends.items()}
            runs[f"{name}, {verdict}"] = {**seeds, **refused, "verdict": verdict}
    for task in WITHOUT_A_VERDICT:
        failed = dict.fromkeys((task, "validate", "verdict"), "failed")
        runs[f"no {task}"] = {**(refused if task == "plan" else {}), **failed}
    runs["no load"]["validate"] = "success"
    for mark in MARKS:
        runs[f"marked as {mark}"] = {"mark": mark, "verdict": "failed"}
    nothing = {task: end for arm in ARMS for task, end in ends_of_arm(arm, host, {"preflight": "-"}).items()}
    runs["nothing new"] = {f"seed_{host}.{'pull_image' if host == 'docker' else 'seed_vocab'}": "skipped", **nothing}
    return runs


@pytest.fixture(scope="module", params=["process", "docker"])
def walked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """The kind of host, and what became of every run of :func:`runs_of`."""
    host, home = str(request.param), tmp_path_factory.mktemp("walk")
    (home / "include" / "campaigns").mkdir(parents=True)
    (home / "include" / "hosts.yaml").write_text(HOSTS)
    (home / "include" / "campaigns" / f"{host}.yaml").write_text(CAMPAIGN.replace("HOST", host))
    runs = runs_of(host)
    ended = subprocess.run(
        [sys.executable, "-m", "tests.dags.walk", host],
        cwd=ROOT,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "BENCHGATE"))},
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "BENCHGATE_INCLUDE": str(home / "include"),
            "PYTHONPATH": f"{ROOT / 'include'}:{ROOT}",
        },
        input=json.dumps(list(runs.values())),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.strip().splitlines()[-1])
    return host, dict(zip(runs, found, strict=True))


def letters(run: dict[str, Any], arm: str, host: str) -> str:
    """How the tasks of an arm ended, a letter for each."""
    by_state = {state: letter for letter, state in STATES.items()}
    names = ends_of_arm(arm, host, dict.fromkeys(LAUNCH, "S"))
    return "".join(by_state[run["tasks"][name]] for name in names)


@pytest.mark.parametrize("verdict", ["success", "failed"])
@pytest.mark.parametrize("name", TO_AN_ARM)
def test_what_happens_to_an_arm_decides_nothing_but_its_own_tasks(
    walked: tuple[str, dict[str, Any]], name: str, verdict: str
) -> None:
    host, runs = walked
    run = runs[f"{name}, {verdict}"]

    assert letters(run, "a", host) == TO_AN_ARM[name][1]
    assert letters(run, "next", host) == letters(run, "beside", host) == "SSSSSSSS"
    assert run["tasks"]["validate"] == run["tasks"]["load"] == "success"
    assert run["state"] == verdict


@pytest.mark.parametrize("verdict", ["success", "failed"])
@pytest.mark.parametrize("name", TO_THE_RUN)
def test_after_a_seed_that_failed_every_launch_tells_and_the_verdict_decides(
    walked: tuple[str, dict[str, Any]], name: str, verdict: str
) -> None:
    host, runs = walked
    run = runs[f"{name}, {verdict}"]

    assert {letters(run, arm, host) for arm in ARMS} == {"FUUUUUUU"}
    assert run["tasks"]["load"] == "success"
    assert run["state"] == verdict


def test_a_run_with_nothing_new_ends_well_and_skips_what_it_need_not_do(walked: tuple[str, dict[str, Any]]) -> None:
    host, runs = walked
    run = runs["nothing new"]

    assert {letters(run, arm, host) for arm in ARMS} == {"--------"}
    assert run["tasks"]["verdict"] == "success"
    assert run["state"] == "success"


@pytest.mark.parametrize("task", WITHOUT_A_VERDICT)
def test_a_run_that_could_not_be_planned_or_published_failed(walked: tuple[str, dict[str, Any]], task: str) -> None:
    _, runs = walked
    run = runs[f"no {task}"]

    assert run["tasks"]["verdict"] == "failed"
    assert run["state"] == "failed"


@pytest.mark.parametrize("mark", MARKS)
def test_a_run_that_is_marked_as_over_stops_its_servers_and_ends_as_its_verdict_does(
    walked: tuple[str, dict[str, Any]], mark: str
) -> None:
    host, runs = walked
    run = runs[f"marked as {mark}"]

    assert letters(run, "a", host)[-2:] == "-S"  # the next cell is not measured, the server is stopped
    assert run["tasks"]["load"] == "skipped"
    assert run["tasks"]["verdict"] == "failed"
    assert run["state"] == "failed"
