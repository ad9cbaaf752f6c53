"""TLS, proxies, IPv6, API keys and connections, between the real client and the reference server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.client.bench import run_bench
from benchgate.client.config import BenchConfig
from benchgate.errors import MeasureFailed
from tests.integration.client.conftest import measure
from tests.support.forwarders import http_proxy, tls_terminator
from tests.support.reference_server import RunningServer


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def port_of(server: RunningServer) -> int:
    return int(server.base_url.rpartition(":")[2])


def statuses(measured: object) -> set[str]:
    return {record.status for record in measured.result.records}  # type: ignore[attr-defined]


def test_tls_with_a_ca_of_ones_own(reference_server: RunningServer, tmp_path: Path) -> None:
    with tls_terminator(port_of(reference_server), tmp_path) as (tls, certificate):
        url = f"https://localhost:{tls.port}"
        measured = measure(reference_server, "steady", base_url=url, ca_file=str(certificate))
    assert statuses(measured) == {"ok"}
    assert len(measured.pairs) == 4


def test_a_certificate_that_nobody_vouches_for_is_refused_in_words(
    reference_server: RunningServer, tmp_path: Path
) -> None:
    with (
        tls_terminator(port_of(reference_server), tmp_path) as (tls, _),
        pytest.raises(MeasureFailed, match=r"TLS with https://localhost:\d+ failed: .*certificate"),
    ):
        measure(reference_server, "steady", base_url=f"https://localhost:{tls.port}")


def test_plain_http_goes_through_the_proxy_in_absolute_form(
    reference_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with http_proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:a-pass-word@127.0.0.1:{proxy.port}")
        measured = measure(reference_server, "steady")
    assert statuses(measured) == {"ok"}
    assert f"POST {reference_server.base_url}/v1/chat/completions HTTP/1.1" in proxy.seen
    assert all("Proxy-Authorization: Basic" in headers for headers in proxy.headers)


def test_https_goes_through_the_proxy_as_a_tunnel(
    reference_server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_terminator(port_of(reference_server), tmp_path) as (tls, certificate), http_proxy() as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        url = f"https://localhost:{tls.port}"
        measured = measure(reference_server, "steady", base_url=url, ca_file=str(certificate))
    assert statuses(measured) == {"ok"}
    assert set(proxy.seen) == {f"CONNECT localhost:{tls.port} HTTP/1.1"}


def test_a_proxy_that_refuses_the_tunnel_is_named(
    reference_server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_terminator(port_of(reference_server), tmp_path) as (tls, _), http_proxy(refuse=True) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(MeasureFailed, match=rf"through proxy 127\.0\.0\.1:{proxy.port}.*407"):
            measure(reference_server, "steady", base_url=f"https://localhost:{tls.port}")


def test_no_proxy_is_obeyed(reference_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with http_proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        measured = measure(reference_server, "steady")
    assert statuses(measured) == {"ok"}
    assert proxy.seen == []


def test_ipv6(start_reference_server: Callable[..., RunningServer]) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"this machine has no IPv6 loopback: {error}")
    server = start_reference_server("--host", "::1", "--ttft-ms", "5", "--itl-ms", "1")
    assert "[::1]" in server.base_url
    assert statuses(measure(server, "steady")) == {"ok"}


def test_a_name_with_two_addresses_works_when_only_the_second_answers(
    reference_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = reference_server.base_url.replace("127.0.0.1", "localhost")  # ::1 comes first on many machines
    assert statuses(measure(reference_server, "steady", base_url=url)) == {"ok"}


def test_an_api_key_is_sent_and_a_missing_one_is_an_error(
    start_reference_server: Callable[..., RunningServer],
) -> None:
    server = start_reference_server("--api-key", "key-of-the-test", "--ttft-ms", "5", "--itl-ms", "1")
    config = BenchConfig(server.base_url, model="steady", prompt_tokens=32, users=1, num_prompts=2, warmup=0)
    refused = run_bench(config)
    allowed = run_bench(BenchConfig(**{**_fields(config), "api_key": "key-of-the-test"}))
    assert {record.status for record in refused.records if record.phase == "measured"} == {"http_4xx"}
    assert {record.status for record in allowed.records if record.phase == "measured"} == {"ok"}


def _fields(config: BenchConfig) -> dict[str, object]:
    return {name: getattr(config, name) for name in config.__slots__}


def test_connections_are_kept_and_used_again(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=2, num_prompts=12)
    assert len({pair.truth.connection for pair in measured.pairs}) <= 3
    assert max(pair.truth.requests_before for pair in measured.pairs) >= 4


def test_an_idle_connection_that_the_server_has_closed_is_no_error(
    start_reference_server: Callable[..., RunningServer],
) -> None:
    server = start_reference_server("--ttft-ms", "5", "--itl-ms", "1", "--idle-close-ms", "30")
    # arrivals far apart: every kept connection has been closed by the server when its next request comes
    measured = measure(server, "steady", users=None, request_rate=8.0, arrivals="constant", num_prompts=10)
    assert statuses(measured) == {"ok"}


def test_a_server_that_is_not_there_is_named_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(MeasureFailed, match=rf"http://127\.0\.0\.1:{port} cannot be reached: .*Connection refused"):
        run_bench(BenchConfig(f"http://127.0.0.1:{port}", prompt_tokens=32, users=1, num_prompts=1))
