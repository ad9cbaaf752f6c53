"""What answers at a host's address may be no Docker Engine at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine

HTML = "<!DOCTYPE HTML>\n<html><body><h1>Error response</h1></body></html>"


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """Makes a port of this machine that answers whatever comes with these bytes; returns its URL."""
    listeners: list[socket.socket] = []

    def serve(listener: socket.socket, answer: bytes) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            with caller:
                caller.recv(65536)
                caller.sendall(answer)

    def made(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}"

    yield made
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def http(status: str, kind: str, body: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http("404 Not Found", "text/html", HTML), "HTTP status 404"),
        (http("200 OK", "text/html", HTML), "something else than a version"),
        (http("404 Not Found", "application/json", '{"detail":"Not Found"}'), "something else than a version"),
        (http("200 OK", "application/json", '{"version":"0.26.0"}'), "something else than a version"),
        (http("200 OK", "application/json", "[]"), "something else than a version"),
        (http("502 Bad Gateway", "text/plain", "upstream"), "HTTP status 502"),
    ],
)
def test_a_web_server_is_called_no_docker_engine_and_its_page_is_not_shown(
    answering: Callable[[bytes], str], answer: bytes, words: str
) -> None:
    url = answering(answer)

    with pytest.raises(HostError, match=f"host gpu1: what answers at {url} is no Docker Engine: .*{words}") as told:
        DockerEngine("gpu1", EngineConnection(url)).clock()

    assert "<" not in str(told.value)
    assert "docker_url" in str(told.value.remedy)


def test_what_speaks_no_http_is_called_no_docker_engine(answering: Callable[[bytes], str]) -> None:
    url = answering(b"SSH-2.0-OpenSSH_9.2\r\n")

    with pytest.raises(HostError, match="does not speak HTTP and is no Docker Engine"):
        DockerEngine("gpu1", EngineConnection(url)).clock()


def test_a_refusal_of_an_engine_stays_what_the_engine_says(answering: Callable[[bytes], str]) -> None:
    url = answering(http("403 Forbidden", "application/json", '{"message":"plugin opa denied the request"}'))

    with pytest.raises(HostError, match="plugin opa denied the request"):
        DockerEngine("gpu1", EngineConnection(url)).clock()
