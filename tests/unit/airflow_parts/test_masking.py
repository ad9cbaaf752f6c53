"""Every task of a launch knows what to mask in a server's words: each is a process of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchgate import secrets
from benchgate.airflow import secrets as airflow_secrets
from benchgate.airflow import task_steps


def _run(names: list[str]) -> Any:
    return SimpleNamespace(campaign=SimpleNamespace(secrets=names))


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setattr(airflow_secrets, "_variable", lambda name: None)
    monkeypatch.setattr(airflow_secrets, "_connection", lambda name: None)
    monkeypatch.setattr(airflow_secrets, "mask_secret", lambda value: None)


def test_the_campaigns_secrets_are_masked_in_what_a_server_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_LOGIN", "no-shape-of-a-token")

    task_steps._mask_secrets(_run(["REGISTRY_LOGIN"]))

    assert secrets.mask("login no-shape-of-a-token") == "login ***"


def test_a_secret_that_is_gone_keeps_no_server_from_being_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GONE", raising=False)
    monkeypatch.setenv("REGISTRY_LOGIN", "no-shape-of-a-token")

    task_steps._mask_secrets(_run(["GONE", "REGISTRY_LOGIN"]))

    assert secrets.mask("no-shape-of-a-token") == "***"
