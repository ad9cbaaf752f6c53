"""What housekeeping says of hosts: what was removed, what was left alone, and who did not answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate import cli, names
from benchgate.artifacts import RunStore
from benchgate.errors import HostError
from benchgate.hosts.docker import DockerHost
from benchgate.records import RunRecord
from benchgate.spec.hosts import HostSpec
from benchgate.steps import leftovers

HOSTS = "hosts: {gpu-a: {docker_url: 'tcp://127.0.0.1:9', client_image: c, placements: {all: {}}}}\n"


class Engine:
    """Containers by name, each of a run, as an engine lists and removes them."""

    host = "gpu-a"

    def __init__(self, **runs: str) -> None:
        self.runs = {name.replace("_", "-"): run for name, run in runs.items()}
        self.api = SimpleNamespace(containers=self.listed, networks=self.nothing, volumes=lambda **_o: {"Volumes": []})

    def clock(self) -> float:
        return 0.0

    def doing(self, _what: str) -> Any:
        return nullcontext()

    def close(self) -> None:
        pass

    def nothing(self, **_options: Any) -> list[Any]:
        return []

    def listed(self, **_options: Any) -> list[dict[str, Any]]:
        return [
            {"Id": name, "Names": [f"/{name}"], "Status": "Up 3 hours", "Created": 0, "Labels": self.labels(run)}
            for name, run in self.runs.items()
        ]

    def labels(self, run: str) -> dict[str, str]:
        return names.labels(campaign="c", run=run, arm="marlin", placement="gpu-a/all", role="server", created="now")


@pytest.fixture
def engine(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine of the one host of the inventory: it holds what a known run and an unknown one have left."""
    hosts = benchgate_home / "hosts.yaml"
    hosts.write_text(HOSTS)
    monkeypatch.setenv("BENCHGATE_HOSTS", str(hosts))
    engine = Engine(benchgate_a="c.over", benchgate_b="c.lost")
    store = RunStore("c.over")
    over = RunRecord(
        run="c.over", campaign="c", airflow_run_id="over", started_at="2026-11-30T02:00:00Z", state="failed",
        benchgate_version="1",
    )  # fmt: skip
    store.write(store.path("run.json"), over)
    spec = HostSpec.model_validate({"docker_url": "tcp://127.0.0.1:9", "placements": {"all": {}}})

    def get_host(name: str, _inventory: Any) -> DockerHost:
        return DockerHost(name, spec, engine)  # type: ignore[arg-type]

    def remove(_engine: Any, container: dict[str, Any], _image: str | None) -> bool:
        return engine.runs.pop(container["Id"], None) is not None

    monkeypatch.setattr(leftovers, "get_host", get_host)
    monkeypatch.setattr("benchgate.hosts.get_host", get_host)
    monkeypatch.setattr("benchgate.hosts.reaper._remove", remove)
    return engine


@pytest.mark.parametrize(("answer", "left"), [(True, []), (False, ["benchgate-b"]), (None, ["benchgate-b"])])
def test_who_knows_decides_about_a_run_without_a_record(engine: Engine, answer: bool | None, left: list[str]) -> None:
    asked: list[str] = []

    def ask(key: str) -> bool | None:
        asked.append(key)
        return answer

    leftovers.remove_leftovers(kinds=("docker",), ask_unrecorded=ask)

    assert set(asked) == {"c.lost"}
    assert list(engine.runs) == left


def test_what_nobody_knows_is_told_with_what_to_do_and_is_no_removal(engine: Engine) -> None:
    removed, left = leftovers.remove_leftovers(kinds=("docker",), ask_unrecorded=lambda _key: None)

    assert removed.startswith("gpu-a: server benchgate-a (Up 3 hours) of arm marlin, run c.over")
    assert leftovers.is_removal(removed)
    assert left == (
        "gpu-a: left alone, because nobody knows its run: server benchgate-b (Up 3 hours) of arm marlin, run c.lost. "
        "When that run is over: `docker rm -f benchgate-b` on host gpu-a"
    )
    assert not leftovers.is_removal(left)


def test_where_nobody_can_be_asked_the_runs_of_others_are_not_told(engine: Engine) -> None:
    assert len(leftovers.remove_leftovers(kinds=("docker",))) == 1
    assert list(engine.runs) == ["benchgate-b"]


def test_a_damaged_record_keeps_no_host_from_being_cleaned(engine: Engine) -> None:
    RunStore("c.lost").write_text(RunStore("c.lost").path("run.json"), "{")

    said = leftovers.remove_leftovers(kinds=("docker",), ask_unrecorded=lambda _key: None)

    assert [leftovers.is_removal(line) for line in said] == [True, False]
    assert list(engine.runs) == ["benchgate-b"]


def test_a_host_that_does_not_answer_lost_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_options: Any) -> Callable[..., Any]:
        raise HostError("host gpu-a does not answer")

    monkeypatch.setattr(engine.api, "containers", away)

    (said,) = leftovers.remove_leftovers(kinds=("docker",))

    assert said == "gpu-a: could not look: host gpu-a does not answer"
    assert not leftovers.is_removal(said)


def test_the_command_names_what_it_leaves_alone(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["housekeeping", "--no-finish", "--no-artifacts"])
    said = capsys.readouterr().out.splitlines()
    cli.main(["housekeeping", "--no-finish", "--no-artifacts", "--run", "c.lost"])

    assert code == 0
    assert said[0].startswith("host gpu-a: removed server benchgate-a ")
    assert said[1].startswith("host gpu-a: left alone, because nobody knows its run: server benchgate-b ")
    assert said[1].endswith("`docker rm -f benchgate-b` on host gpu-a")
    assert said[2] == "1 things done"
    assert engine.runs == {}


def test_the_command_tells_of_a_run_without_its_campaign(
    benchgate_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    (include / "hosts.yaml").write_text("hosts: {here: {kind: process, placements: {one: {}}}}\n")
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    store = RunStore("mini.r1")
    record = RunRecord(
        run="mini.r1", campaign="mini", airflow_run_id="r1", started_at="2026-11-30T02:00:00Z", benchgate_version="1"
    )
    store.write(store.path("run.json"), record)

    code = cli.main(["housekeeping"])

    assert code == 0
    assert "run mini.r1 is left alone: its campaign file is gone." in capsys.readouterr().out
    assert leftovers.record_of("mini.r1") == record
