"""Who may log in to the stack, and what of other people's campaigns he sees."""

from __future__ import annotations

import secrets
import urllib.error
from collections.abc import Callable, Iterator

import pytest

from tests.production.shell import Operator, block_with, commands_with
from tests.production.stack import Stack

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]
READS = ("DAG Runs", "Task Instances", "Website")


@pytest.fixture
def ada(stack: Stack, add_campaign: Callable[..., str]) -> Iterator[str]:
    """A token of somebody who may read the campaign ``hers``, and not ``others``."""
    arms = {"a": {"placement": "gpu-a/p0"}}
    for name in ("hers", "others"):
        add_campaign(name, arms)
        stack.wait_for_dag(name)
    may = [*READS, "DAG:hers"]
    role = {"name": "hers only", "actions": [{"action": {"name": "can_read"}, "resource": {"name": of}} for of in may]}
    person = {"username": "ada", "email": "ada@example.net", "first_name": "Ada", "last_name": "L"}
    password = secrets.token_urlsafe(16)
    stack.call("POST", "/auth/fab/v1/roles", role, token=stack.token())
    stack.call(
        "POST", "/auth/fab/v1/users", {**person, "password": password, "roles": [{"name": role["name"]}]},
        token=stack.token(),
    )  # fmt: skip
    yield stack.log_in("ada", password)
    for name in ("hers", "others"):
        (stack.site / "campaigns" / f"{name}.yaml").unlink()


def test_a_person_sees_the_campaign_whose_dag_he_may_read_and_no_other(stack: Stack, ada: str) -> None:
    listed = stack.call("GET", "/benchgate/api/", token=ada)["campaigns"]
    dags = stack.call("GET", "/api/v2/dags", token=ada)["dags"]

    assert [one["campaign"] for one in listed] == ["hers"]
    assert [one["dag_id"] for one in dags] == ["hers"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        stack.call("GET", "/benchgate/api/campaign/others", token=ada)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        stack.call("POST", "/api/v2/dags/hers/dagRuns", {"logical_date": None}, token=ada)


def test_passwords_are_kept_as_hashes(stack: Stack) -> None:
    kept = stack.rows("select username, split_part(password, ':', 1) from ab_user", database="airflow", role="airflow")

    assert ["admin", "scrypt"] in kept
    assert {method for _, method in kept} == {"scrypt"}


def test_a_password_that_was_reset_is_the_only_one_also_after_a_new_start(stack: Stack) -> None:
    old, new = stack.admin_password, secrets.token_urlsafe(16)
    operator = Operator(stack)
    block = block_with("reset-password")

    operator.types(commands_with(block, "reset-password"), answers=f"{new}\n{new}\n")
    stack.compose("up", "--no-deps", "airflow-init")  # its part of a start

    with pytest.raises(urllib.error.HTTPError, match="401"):
        stack.log_in("admin", old)
    stack.log_in("admin", new)
    stack.admin_password = new
