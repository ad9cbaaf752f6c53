"""The loop that reads sockets in its own wait must still be an event loop: timers, threads, files and signals."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from benchgate.client.runtime import event_loop, interrupts
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.reading_loop import ReadingLoop
from benchgate.client.wire.receiver import PlainConnection, Receiver
from tests.unit.client.replies import STREAM_HEAD, chunk, delta

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="epoll is Linux'")


@pytest.fixture
def loop() -> Iterator[ReadingLoop]:
    loop = ReadingLoop()
    yield loop
    loop.close()


@pytest.fixture
def chatter(loop: ReadingLoop) -> Iterator[Exchange]:
    """An answer that goes on and on, so that the wait of the loop never has nothing to read."""
    listener = socket.create_server(("127.0.0.1", 0))
    sock = socket.create_connection(listener.getsockname())
    sock.setblocking(False)
    server, _ = listener.accept()
    receiver = Receiver(loop.selector)
    connection = PlainConnection(receiver, sock)
    exchange = Exchange(loop)
    connection.send(exchange, (b"GET / HTTP/1.1\r\n\r\n",))
    server.sendall(STREAM_HEAD + chunk(delta(content="a")))
    over = threading.Event()

    def talk() -> None:
        while not over.wait(0.0005):
            server.sendall(chunk(delta(content="b")))

    thread = threading.Thread(target=talk)
    thread.start()
    yield exchange
    over.set()
    thread.join()
    receiver.close()
    server.close()
    listener.close()


def test_a_timer_is_called_while_tokens_keep_coming(loop: ReadingLoop, chatter: Exchange) -> None:
    loop.run_until_complete(asyncio.wait_for(asyncio.sleep(0.1), 30))

    assert len(chatter.reads) + chatter.read_count > 10  # they were read meanwhile


def test_another_thread_is_heard_while_tokens_keep_coming(loop: ReadingLoop, chatter: Exchange) -> None:
    heard = loop.create_future()
    threading.Timer(0.1, lambda: loop.call_soon_threadsafe(heard.set_result, "yes")).start()

    assert loop.run_until_complete(asyncio.wait_for(heard, 30)) == "yes"


def test_a_file_of_the_loop_is_read_while_tokens_keep_coming(loop: ReadingLoop, chatter: Exchange) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    threading.Timer(0.1, lambda: theirs.send(b"hello")).start()

    assert loop.run_until_complete(asyncio.wait_for(loop.sock_recv(ours, 16), 30)) == b"hello"
    ours.close()
    theirs.close()


def test_an_interrupt_is_heard_while_tokens_keep_coming(loop: ReadingLoop, chatter: Exchange) -> None:
    heard: asyncio.Future[str] = loop.create_future()
    with interrupts(loop, heard.set_result):
        threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGTERM)).start()
        assert loop.run_until_complete(asyncio.wait_for(heard, 30)) == "interrupt"


def test_the_end_of_an_answer_wakes_who_waits_for_it(loop: ReadingLoop) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    sock = socket.create_connection(listener.getsockname())
    sock.setblocking(False)
    server, _ = listener.accept()
    receiver = Receiver(loop.selector)
    exchange = Exchange(loop)
    PlainConnection(receiver, sock).send(exchange, (b"GET / HTTP/1.1\r\n\r\n",))
    threading.Timer(0.05, lambda: server.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")).start()

    loop.run_until_complete(asyncio.wait_for(exchange.future, 30))

    assert exchange.http_status == 204
    receiver.close()
    server.close()
    listener.close()


def test_a_loop_has_one_receiver_at_a_time(loop: ReadingLoop) -> None:
    first = Receiver(loop.selector)
    with pytest.raises(RuntimeError, match="one receiver a loop"):
        Receiver(loop.selector)
    first.close()
    Receiver(loop.selector).close()


@pytest.mark.parametrize(("tls", "kind"), [(False, "ReadingLoop"), (True, "Loop")])
def test_tls_has_the_loop_whose_transports_are_fast(tls: bool, kind: str) -> None:
    with event_loop(tls=tls) as loop:
        assert type(loop).__name__ == kind
