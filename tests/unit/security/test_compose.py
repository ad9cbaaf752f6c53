"""What docker-compose.yaml opens, and what it does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docker-compose.yaml").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
SECRETS = re.compile(r"PASSWORD$|_KEY$|_SECRET$|TOKEN$")


def test_only_the_api_server_is_published_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if service.get("ports")}

    assert list(published) == ["airflow-apiserver"]
    (port,) = published["airflow-apiserver"]
    assert port.startswith("${BENCHGATE_BIND:-127.0.0.1}:")
    assert not any(service.get("network_mode") == "host" for service in SERVICES.values())


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_container_is_locked_down(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")
    assert not service.get("cap_add")
    assert "docker.sock" not in str(service.get("volumes"))


def test_passwords_of_people_reach_only_the_step_that_hashes_them() -> None:
    readers = [name for name, service in SERVICES.items() if "/run/secrets/passwords" in str(service.get("volumes"))]
    managers = {service["environment"].get("AIRFLOW__CORE__AUTH_MANAGER") for service in SERVICES.values()}

    assert readers == ["airflow-init"]
    assert managers == {None, "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"}


def test_no_secret_has_a_default() -> None:
    for name, default in re.findall(r"\$\{(\w+):?-([^}]*)\}", TEXT):
        assert not SECRETS.search(name) or not default, f"{name} has the default {default!r}"
    example = (ROOT / ".env.example").read_text()
    for name, value in re.findall(r"^(\w+)=(\S*)", example, re.MULTILINE):
        assert not SECRETS.search(name) or not value, f"{name} has a value in .env.example"
