"""``docker_conn_id`` in hosts.yaml is looked up in Airflow, and its password never shows."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchgate.errors import HostError
from benchgate.hosts import docker_connections
from benchgate.spec.hosts import HostSpec, TlsFiles


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from benchgate.airflow import docker_connections as airflow_side

    connection = {
        "conn_type": "docker",
        "host": "tcp://10.0.0.5",
        "port": 2376,
        "login": "ci",
        "password": "registry-pass-1",
        "extra": {"ca": "/tls/ca.pem", "cert": "/tls/cert.pem", "key": "/tls/key.pem", "registry": "r.example"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_GPU_LAB", json.dumps(connection))
    airflow_side.install()
    yield
    docker_connections.use_connections(None)


def test_a_host_is_reached_through_its_airflow_connection(installed: None) -> None:
    spec = HostSpec.model_validate({"docker_conn_id": "gpu_lab", "placements": {"a": {}}})

    found = docker_connections.connection_of("lab", spec)

    assert found.url == "tcp://10.0.0.5:2376"
    assert found.tls == TlsFiles(ca="/tls/ca.pem", cert="/tls/cert.pem", key="/tls/key.pem")
    assert (found.registry_username, found.registry_password) == ("ci", "registry-pass-1")
    assert "registry-pass-1" not in repr(found)


def test_a_connection_that_is_not_there_is_named(installed: None) -> None:
    spec = HostSpec.model_validate({"docker_conn_id": "nowhere", "placements": {"a": {}}})

    with pytest.raises(HostError, match=r"no Airflow connection 'nowhere'.*docker_conn_id"):
        docker_connections.connection_of("lab", spec)
