"""A server under test may send anything, for ever: a worker reads so much of it, and no more."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from benchgate.errors import HostError
from benchgate.hosts import bounded, docker_agent_request, docker_direct

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@contextmanager
def endless(piece: bytes, pause_s: float = 0.0) -> Iterator[int]:
    """A server that answers with ``piece`` again and again; gives its port."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65536)
                    connection.sendall(HEAD)
                    while not over.is_set():
                        connection.sendall(piece)
                        over.wait(pause_s) if pause_s else None
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        over.set()
        listening.close()


def asked(port: int) -> requests.Response:
    return requests.get(f"http://127.0.0.1:{port}/", stream=True, timeout=10)


def test_an_answer_without_an_end_is_given_up_at_the_limit() -> None:
    with endless(b"x" * 65536) as port, pytest.raises(bounded.AnswerTooLarge, match="larger than 1 MiB"):
        bounded.read_answer(asked(port), limit_s=60, limit=2**20)


def test_a_byte_now_and_then_does_not_hold_a_task() -> None:
    with endless(b"x", 0.05) as port, pytest.raises(requests.Timeout):
        bounded.read_answer(asked(port), limit_s=0.2, limit=2**20)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"Content-Length: 5\r\n", b"whole"),
        (b"Transfer-Encoding: chunked\r\n", b"2\r\nwh\r\n3\r\nole\r\n0\r\n\r\n"),
        (b"Content-Encoding: gzip\r\nConnection: close\r\n", gzip.compress(b"whole", mtime=0)),
        (b"Connection: close\r\n", b"whole"),
    ],
    ids=["length", "chunked", "gzip", "until it closes"],
)
def test_a_whole_answer_is_read_whatever_its_framing(headers: bytes, body: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + body)

        threading.Thread(target=serve, daemon=True).start()
        assert bounded.read_answer(asked(listening.getsockname()[1]), limit_s=10) == b"whole"


def test_the_direct_way_says_that_the_answer_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "ANSWER_LIMIT", 2**20)
    with endless(b"x" * 65536) as port, pytest.raises(HostError, match="GET /metrics: the answer is larger than 1 MiB"):
        docker_direct.request("GET /metrics", f"http://127.0.0.1:{port}/metrics", "GET", None, timeout_s=30)


def test_the_probe_inside_the_namespace_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_agent_request, "ANSWER_LIMIT", 2**20)
    with endless(b"x" * 65536) as port:
        status, said = docker_agent_request.answer("GET", port, "/metrics", 30, None)

    assert status == 0
    assert said == b"the answer is larger than 1 MiB"
