"""How hosts are reached, and what is said when they are not."""

from __future__ import annotations

import pytest
from docker.errors import APIError

from benchgate import secrets
from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection, connection_from_fields, connection_of, use_connections
from benchgate.hosts.docker_engine import explain_connect_error
from benchgate.spec.hosts import HostSpec, TlsFiles

BY_URL = HostSpec.model_validate({"docker_url": "tcp://gpu1:2376", "placements": {"a": {}}})
BY_CONN = HostSpec.model_validate({"docker_conn_id": "gpu_lab", "placements": {"a": {}}})


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("gpu1", 2376, "tcp://gpu1:2376"),
        ("tcp://gpu1:2376", None, "tcp://gpu1:2376"),
        ("tcp://gpu1:2376", 2376, "tcp://gpu1:2376"),
        ("tcp://gpu1", 2376, "tcp://gpu1:2376"),
        ("ssh://bench@gpu1", 22, "ssh://bench@gpu1:22"),
        ("unix:///var/run/docker.sock", 2376, "unix:///var/run/docker.sock"),
    ],
)
def test_host_and_port_of_a_connection_make_a_url(host: str, port: int | None, url: str) -> None:
    assert connection_from_fields("c", host=host, port=port).url == url


def test_tls_files_of_a_connection_are_all_or_none() -> None:
    whole = connection_from_fields("c", host="gpu1", port=2376, extra={"ca": "ca", "cert": "cert", "key": "key"})

    assert whole.tls == TlsFiles(ca="ca", cert="cert", key="key")
    with pytest.raises(HostError, match=r"'gpu_lab' names only part of the TLS files; missing: cert.*plain HTTP"):
        connection_from_fields("gpu_lab", host="gpu1", port=2376, extra={"ca": "ca", "key": "key"})


def test_a_connection_without_a_host_is_refused_by_name() -> None:
    with pytest.raises(HostError, match="'gpu_lab' has no host"):
        connection_from_fields("gpu_lab", host=None, port=None)


def test_a_registry_password_is_masked_from_then_on() -> None:
    made = connection_from_fields("c", host="gpu1", port=1, login="ci", password="s3cret-pass", extra={"registry": "r"})

    assert (made.registry, made.registry_username) == ("r", "ci")
    assert "s3cret-pass" not in repr(made)
    assert secrets.mask("it is s3cret-pass") == "it is ***"


def test_an_airflow_connection_needs_somebody_who_knows_it() -> None:
    known = EngineConnection("tcp://10.0.0.5:2376")

    with pytest.raises(HostError, match=r"host lab .*'gpu_lab'.*unknown here.*inside Airflow"):
        connection_of("lab", BY_CONN)
    assert connection_of("lab", BY_CONN, lambda conn_id: known).url == known.url
    use_connections(lambda conn_id: EngineConnection(f"tcp://{conn_id}:2376"))
    try:
        assert connection_of("lab", BY_CONN).url == "tcp://gpu_lab:2376"
        assert connection_of("gpu1", BY_URL).url == "tcp://gpu1:2376"
    finally:
        use_connections(None)


def test_a_process_host_has_no_docker_connection() -> None:
    spec = HostSpec.model_validate({"kind": "process", "placements": {"a": {}}})

    with pytest.raises(HostError, match="not a Docker host"):
        connection_of("local", spec)


@pytest.mark.parametrize(
    ("error", "words", "remedy"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "nothing listens there", "start Docker"),
        (PermissionError(13, "Permission denied"), "this user may not use the socket", "docker group"),
        (FileNotFoundError(2, "No such file or directory"), "there is no such socket", "docker_url"),
        (TimeoutError("timed out"), "did not answer in time", "firewall"),
        (OSError("[Errno 113] No route to host"), "no route", "firewall"),
        (OSError("[SSL: CERTIFICATE_VERIFY_FAILED] unable to get local issuer"), "does not check out", "CA"),
        (OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate is not yet valid"), "not valid yet", "clock"),
        (OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate has expired"), "not valid any more", "renew"),
        (OSError("hostname '10.0.0.5' doesn't match '10.0.0.6'"), "for another address", "certificate"),
        (OSError("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]"), "an unknown reason", "docker version"),
        (OSError("Authentication failed."), "ssh refused the login", "authorized_keys"),
        (OSError("Server 'gpu1' not found in known_hosts"), "ssh host key is unknown", "accept the host key"),
        (APIError("Client sent an HTTP request to an HTTPS server."), "speaks TLS", "ca, cert, key"),
    ],
)
def test_transport_errors_name_host_url_and_remedy(error: Exception, words: str, remedy: str) -> None:
    said = explain_connect_error("gpu1", "tcp://user:pass@gpu1:2376", error)

    assert "host gpu1" in str(said)
    assert "tcp://***@gpu1:2376" in str(said)
    assert words in str(said) or words == "an unknown reason"
    assert remedy in str(said.remedy)
