"""Every DAG file parses, is laid out as the campaign says, and a broken campaign hides no other."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dags.conftest import ROOT

HOSTS = """
hosts:
  here:
    kind: process
    placements: {one: {}, two: {}}
"""
CAMPAIGN = """
campaign: NAME
engine: llamacpp
model: {id: m, source: {folder: /nowhere}}
arms:
  a: {placement: here/one, args: {threads: 1}}
  b: {placement: here/two, args: {threads: 2}}
swap_placements: true
repeats: 2
workloads:
  chat: {dataset: synthetic, prompt_tokens: 8, max_tokens: 4, users: [1, 2], requests: 2}
"""


@pytest.fixture
def bag_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Parse dags/ over an include folder that a test filled."""

    def parse(files: dict[str, str] | None = None) -> Any:
        from airflow.dag_processing.dagbag import DagBag

        if files is not None:
            include = tmp_path / "include"
            (include / "campaigns").mkdir(parents=True)
            (include / "hosts.yaml").write_text(HOSTS)
            for name, text in files.items():
                (include / "campaigns" / name).write_text(text)
            monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
        return DagBag(str(ROOT / "dags"))

    return parse


def test_every_dag_of_the_project_parses(bag_of: Any) -> None:
    bag = bag_of()

    assert bag.import_errors == {}
    campaigns = {path.stem for path in (ROOT / "include" / "campaigns").glob("*.yaml")}
    assert campaigns | {"report", "housekeeping"} == set(bag.dags)
    for dag in bag.dags.values():
        assert "benchgate" in dag.tags
        assert dag.doc_md
        assert dag.owner == "benchgate"


def test_a_broken_campaign_is_an_import_error_with_file_and_line_and_hides_no_other(bag_of: Any) -> None:
    broken = CAMPAIGN.replace("NAME", "bad").replace("users: [1, 2]", "users: [0]")
    bag = bag_of({"good.yaml": CAMPAIGN.replace("NAME", "good"), "bad.yaml": broken})

    assert "good" in bag.dags
    assert "bad" not in bag.dags
    (message,) = bag.import_errors.values()
    assert "bad.yaml:11: workloads.chat.users[0]" in message
    assert "good.yaml" not in message


def test_two_broken_campaigns_are_both_told(bag_of: Any) -> None:
    bag = bag_of({"one.yaml": "campaign: [", "two.yaml": "engine: vllm", "good.yaml": CAMPAIGN.replace("NAME", "good")})

    (message,) = bag.import_errors.values()
    assert "one.yaml" in message
    assert "two.yaml" in message
    assert "good" in bag.dags


def test_two_files_of_one_name_are_refused(bag_of: Any) -> None:
    bag = bag_of({"one.yaml": CAMPAIGN.replace("NAME", "same"), "two.yaml": CAMPAIGN.replace("NAME", "same")})

    (message,) = bag.import_errors.values()
    assert "two.yaml" in message
    assert "same" in message


def test_launches_of_one_placement_follow_each_other_and_lanes_do_not_wait(bag_of: Any) -> None:
    dag = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"]

    first, second = (dag.get_task(f"{arm}--here--one.preflight") for arm in ("a", "b"))
    assert dag.get_task("a--here--one.stop_server") in second.upstream_list
    assert not any("--here--two" in task_id for task_id in second.get_flat_relative_ids(upstream=True))
    assert first.upstream_task_ids == {"seed_here.seed_dataset"}


def test_the_server_is_set_up_and_torn_down_around_every_cell(bag_of: Any) -> None:
    dag = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"]

    start, stop = dag.get_task("a--here--one.start_server"), dag.get_task("a--here--one.stop_server")
    assert start.is_setup
    assert stop.is_teardown
    measured = [task for task in dag.tasks if task.task_id.startswith("a--here--one.measure_")]
    assert len(measured) == 4
    for task in measured:
        above = task.get_flat_relative_ids(upstream=True)
        assert {"a--here--one.start_server", "a--here--one.needle_check"} <= above
        assert "a--here--one.stop_server" in task.get_flat_relative_ids(upstream=False)


def test_publishing_waits_for_every_teardown_and_its_verdict_ends_the_run(bag_of: Any) -> None:
    dag = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"]

    stops = {task.task_id for task in dag.tasks if task.task_id.endswith("stop_server")}
    assert len(stops) == 4
    assert stops <= dag.get_task("validate").upstream_task_ids
    assert [task.task_id for task in dag.leaves] == ["verdict"]


def test_the_trigger_form_offers_what_the_campaign_has(bag_of: Any) -> None:
    dag = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"]

    assert dag.params.get_param("arms").schema["items"]["enum"] == ["a", "b"]
    assert dag.params.get_param("workloads").schema["items"]["enum"] == ["chat"]
    assert dag.params.get_param("users").schema["examples"] == [1, 2]
    assert "image" not in dag.params


@pytest.mark.parametrize("sent", [[1], ["2"], ["1", "2"], [], None])
def test_a_choice_of_users_is_taken_as_a_program_or_the_form_sends_it(bag_of: Any, sent: Any) -> None:
    users = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"].params.get_param("users")

    assert users.resolve(sent) == sent


@pytest.mark.parametrize(
    ("param", "sent"), [("users", ["3"]), ("users", [1, 1]), ("arms", ["A"]), ("repeats", 0), ("repeats", 1.5)]
)
def test_a_choice_that_the_campaign_does_not_have_is_refused(bag_of: Any, param: str, sent: Any) -> None:
    dag = bag_of({"c.yaml": CAMPAIGN.replace("NAME", "c")}).dags["c"]

    with pytest.raises(ValueError, match=r"not one of|non-unique|less than|not of type"):
        dag.params.get_param(param).resolve(sent)


def loaded_by_parsing(names: tuple[str, ...], environment: dict[str, str]) -> list[str]:
    """Which of the named modules are there once the campaigns are parsed in a process of its own."""
    code = f"import sys; import dags.campaigns; print([name for name in {names!r} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT / 'include'}:{ROOT}", "HOME": "/tmp", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = ast.literal_eval(result.stdout.strip().splitlines()[-1])
    return found


def test_parsing_imports_nothing_heavy() -> None:
    heavy = ("great_expectations", "pandas", "scipy", "pyarrow", "huggingface_hub", "xllamacpp")

    assert loaded_by_parsing(heavy, {}) == []


def test_a_task_of_a_campaign_without_docker_imports_no_docker() -> None:
    asked = {"_AIRFLOW_PARSING_CONTEXT_DAG_ID": "demo"}

    assert loaded_by_parsing(("docker", "airflow.providers.docker.operators.docker"), asked) == []
    assert loaded_by_parsing(("docker",), {}) == ["docker"]  # campaigns on Docker hosts have tasks of its provider


def test_a_task_that_says_its_dag_gets_it_alone(bag_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"c.yaml": CAMPAIGN.replace("NAME", "c"), "other.yaml": CAMPAIGN.replace("NAME", "other-name")}
    for file in ("c", "other-name"):
        monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", file)
        dags = bag_of(files).dags
        files = None  # type: ignore[assignment]

        assert file in dags
        assert ("other-name" in dags) == (file == "other-name")


def test_measuring_on_a_docker_host_is_a_task_of_the_docker_provider(bag_of: Any, tmp_path: Any) -> None:
    from airflow.providers.docker.operators.docker import DockerOperator

    campaign = CAMPAIGN.replace("NAME", "c").replace("here/two", "gpu1/two").replace("swap_placements: true\n", "")
    docker = "  gpu1: {docker_url: tcp://gpu1:2375, client_image: site/client:7, placements: {two: {}}}\n"
    include = tmp_path / "include"
    bag_of({"c.yaml": campaign.replace("model:", "image: some/engine:nightly\nmodel:")})
    (include / "hosts.yaml").write_text(HOSTS + docker)

    dag = bag_of().dags["c"]

    measuring = {task.task_id: task for task in dag.tasks if ".measure_" in task.task_id}
    assert {name for name, task in measuring.items() if isinstance(task, DockerOperator)} == {
        name for name in measuring if name.startswith("b--gpu1--two.")
    }
    task = dag.get_task("b--gpu1--two.measure_chat_u1_r1")
    assert (task.image, task.docker_url) == ("site/client:7", "tcp://gpu1:2375")
    assert task.container_name == "benchgate-gpu1-two-client"
    assert task.auto_remove == "never"  # its files are fetched before the container goes
    assert not task.mount_tmp_dir
    assert not task.retrieve_output  # which would unpickle what a container wrote
    assert [link.name for link in task.operator_extra_links] == ["Results"]
