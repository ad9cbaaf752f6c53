"""Upgrade, backup, restore and rotation, as docs/operator.md says them."""

from __future__ import annotations

import secrets

import pytest

from tests.production.shell import Operator, block_with, commands_with
from tests.production.stack import Stack

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]
COUNTED = ("campaign_run", "launch", "cell", "request", "published_cell")
OF_THE_FIRST_RELEASE = """
from alembic import command
from benchgate.warehouse import migrate
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.settings import warehouse_url
with writing(open_warehouse(warehouse_url(), create=True)) as connection:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
"""


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Operator:
    return Operator(stack)


def counts(stack: Stack) -> list[list[str]]:
    return stack.rows("select " + ", ".join(f"(select count(*) from {name})" for name in COUNTED))


def revision(stack: Stack) -> str:
    return stack.rows("select version_num from benchgate_migration", role="benchgate")[0][0]


def test_installing_again_changes_nothing(stack: Stack, operator: Operator) -> None:
    containers = [stack.container(name) for name in ("airflow-scheduler", "postgres")]
    secret = (stack.folder / ".env").read_text()

    said = operator.types(block_with("make env").text)

    assert said.count("stays as it is") == 2
    assert (stack.folder / ".env").read_text() == secret
    assert [stack.container(name) for name in ("airflow-scheduler", "postgres")] == containers


def test_an_upgrade_from_the_first_release_and_a_restored_backup(stack: Stack, operator: Operator) -> None:
    before, newest = counts(stack), revision(stack)
    backup = block_with("> airflow.dump")

    operator.types(commands_with(backup, "pg_dump"))
    stack.rows("drop owned by benchgate cascade", role="benchgate")
    stack.compose(
        "run", "--rm", "-T", "--no-deps", "--entrypoint", "python3", "airflow-init", "-c", OF_THE_FIRST_RELEASE
    )
    assert revision(stack) == "0001"
    operator.types(block_with("git pull").text)

    assert revision(stack) == newest
    assert set(counts(stack)[0]) == {"0"}
    operator.types(commands_with(backup, "pg_restore"))
    assert counts(stack) == before
    assert int(before[0][0]) > 0


def test_the_backup_of_the_artifacts_has_every_run(stack: Stack, operator: Operator) -> None:
    block = block_with("> artifacts.tar.gz")

    operator.types(commands_with(block, "-czf"))
    kept = operator.types("tar -tzf artifacts.tar.gz").splitlines()
    runs = [row[0] for row in stack.rows("select run from campaign_run")]
    assert {f"artifacts/{run}/gates.json" for run in runs} <= set(kept)

    one = f"/var/lib/benchgate/artifacts/{runs[0]}/gates.json"
    stack.compose("exec", "-T", "airflow-scheduler", "rm", one)
    operator.types(commands_with(block, "-xzf"))
    assert stack.compose("exec", "-T", "airflow-scheduler", "cat", one).stdout.startswith("{")


def test_benchgates_commands_in_the_stack_have_its_settings(stack: Stack, operator: Operator) -> None:
    said = operator.types(block_with("benchgate warehouse status").text)

    assert "postgres" in said
    assert revision(stack) in said


def test_airflows_metadata_is_restored(stack: Stack, operator: Operator) -> None:
    runs = stack.rows("select count(*) from dag_run", role="airflow", database="airflow")

    operator.types(commands_with(block_with("> airflow.dump"), "> airflow.dump"))
    stack.rows("delete from dag_run", role="airflow", database="airflow")
    operator.types(block_with("< airflow.dump").text)

    assert stack.rows("select count(*) from dag_run", role="airflow", database="airflow") == runs


def test_a_password_that_is_changed_in_env_is_the_only_one(stack: Stack, operator: Operator) -> None:
    stack.change("BENCHGATE_READER_PASSWORD", new := secrets.token_urlsafe(32))
    with pytest.raises(AssertionError, match="authentication failed"):
        counts(stack)

    operator.types("docker compose up -d --wait")

    assert counts(stack)
    assert stack.settings["BENCHGATE_READER_PASSWORD"] == new
