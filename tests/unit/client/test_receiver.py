"""Reading sockets: who timed the bytes, when they are parsed, and what happens when the clock is set."""

from __future__ import annotations

import asyncio
import gc
import itertools
import socket
import struct
import sys
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from benchgate.client.wire import kernel_clock
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.kernel_clock import KernelClock
from benchgate.client.wire.reading_loop import ReadingLoop
from benchgate.client.wire.receiver import PATIENCE, PlainConnection, Receiver
from tests.unit.client.replies import LAST_CHUNK, STREAM_HEAD, chunk, delta

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="epoll and SO_TIMESTAMPNS are Linux'")


@dataclass
class Wire:
    """A connection of the receiver, and the server's end of it."""

    receiver: Receiver
    connection: PlainConnection
    server: socket.socket
    loop: asyncio.AbstractEventLoop

    def ask(self) -> Exchange:
        """Send a request."""
        exchange = Exchange(self.loop)
        self.connection.send(exchange, (b"GET / HTTP/1.1\r\n\r\n",))
        return exchange

    def turn(self, seconds: float = 0.0) -> None:
        """Let the loop read what is there."""
        self.loop.run_until_complete(asyncio.sleep(seconds))
        self.loop.run_until_complete(asyncio.sleep(0))


@pytest.fixture
def wire() -> Iterator[Wire]:
    loop = ReadingLoop()
    listener = socket.create_server(("127.0.0.1", 0))
    sock = socket.create_connection(listener.getsockname())
    sock.setblocking(False)
    server, _ = listener.accept()
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    receiver = Receiver(loop.selector)
    connection = PlainConnection(receiver, sock)
    time.sleep(0.05)  # the kernel begins to stamp a moment after it was asked to
    yield Wire(receiver, connection, server, loop)
    receiver.close()
    server.close()
    listener.close()
    loop.close()


def word(text: str = " a") -> bytes:
    return chunk(delta(content=text))


def test_a_read_has_the_time_at_which_the_kernel_got_it_not_at_which_we_looked(wire: Wire) -> None:
    exchange = wire.ask()
    before = time.monotonic()
    wire.server.sendall(STREAM_HEAD + word())
    after = time.monotonic()
    time.sleep(0.2)  # the client is late
    wire.turn(0.01)
    assert exchange.last_read_at is not None
    assert before - 0.001 <= exchange.last_read_at <= after + 0.001
    assert (wire.receiver.kernel_stamps, wire.receiver.own_stamps) == (1, 0)
    assert (wire.receiver.lag.quantile_s(0.99) or 0.0) >= 0.19


def test_a_clock_that_was_set_leaves_the_read_its_own_time(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD + word())
    time.sleep(0.05)
    monkeypatch.setattr(kernel_clock, "time", lambda: time.time() + 3600.0)
    before = time.monotonic()
    wire.turn(0.01)
    assert exchange.last_read_at is not None
    assert exchange.last_read_at >= before
    assert (wire.receiver.kernel_stamps, wire.receiver.own_stamps) == (0, 1)


def test_a_stamp_before_the_request_or_in_the_future_is_not_believed(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_clock, "time", lambda: time.time() + 0.5)
    wire.receiver._clock = KernelClock()  # steady, but half a second off
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD + word())
    wire.turn(0.01)
    assert exchange.last_read_at is not None
    assert exchange.sent_at is not None
    assert exchange.last_read_at >= exchange.sent_at
    assert wire.receiver.own_stamps == 1


def test_a_slewed_clock_is_followed() -> None:
    clock = KernelClock()
    assert all(clock.compare() for _ in range(100))
    assert clock.steps == 0


def test_a_set_clock_is_noticed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = KernelClock()
    monkeypatch.setattr(kernel_clock, "time", lambda: time.time() - 0.01)
    assert clock.compare() is False
    assert clock.compare() is True
    assert clock.steps == 1


def test_a_pause_between_the_two_clocks_is_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = KernelClock()
    paused = itertools.chain([0.05], itertools.repeat(0.0))
    monkeypatch.setattr(kernel_clock, "time", lambda: time.time() - next(paused))
    assert clock.compare() is True


def test_reads_from_the_middle_of_a_stream_wait_and_the_end_does_not(wire: Wire) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD + word())
    wire.turn(0.01)
    assert exchange.answer.events == 1  # before, nobody knew how the answer is framed
    wire.server.sendall(word())
    wire.turn(0.01)
    waiting = len(exchange.reads)
    wire.server.sendall(chunk(delta(finish="stop")) + LAST_CHUNK)
    wire.turn(0.01)
    assert waiting == 1
    assert exchange.complete
    assert exchange.answer.events == 2
    assert exchange.events == 3


def test_done_is_read_at_once_also_where_the_message_does_not_end(wire: Wire) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD + word())
    wire.turn(0.01)
    wire.server.sendall(chunk(b"data: [DONE]\n\n"))
    wire.turn(0.01)
    assert exchange.answer.done


def test_an_answer_that_was_reset_is_freed_without_the_collector(wire: Wire) -> None:
    class Watched(Exchange):
        """An exchange that can be referred to weakly."""

    exchange = Watched(wire.loop)
    wire.connection.send(exchange, (b"GET / HTTP/1.1\r\n\r\n",))
    wire.server.sendall(STREAM_HEAD + word())
    wire.turn(0.01)
    gc.disable()
    try:
        wire.server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.server.close()
        wire.turn(0.01)
        assert "reset" in (exchange.lost or "")
        exchange.release()
        wire.receiver.parse()
        alive = weakref.ref(exchange)
        del exchange
        assert alive() is None
    finally:
        gc.enable()


def test_what_waits_is_parsed_when_somebody_asks(wire: Wire) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD)
    wire.turn(0.01)
    wire.server.sendall(word())
    wire.turn(0.01)
    assert exchange.answer.events == 0
    wire.receiver.parse()
    assert exchange.answer.events == 1


def test_so_many_reads_do_not_wait(wire: Wire) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD)
    wire.turn(0.01)
    for _ in range(PATIENCE + 1):
        wire.server.sendall(word())
        wire.turn()
    assert exchange.answer.events >= PATIENCE - 1
    assert len(exchange.reads) <= 2


def test_the_end_of_the_connection_comes_after_what_was_read(wire: Wire) -> None:
    exchange = wire.ask()
    wire.server.sendall(STREAM_HEAD + word())
    wire.turn(0.01)
    wire.server.sendall(word())
    wire.server.recv(4096)
    wire.server.close()
    wire.turn(0.01)
    assert exchange.lost == "connection closed by the server"
    assert exchange.answer.events == 2
    assert not wire.connection.reusable


def test_bytes_that_nobody_asked_for_close_an_idle_connection(wire: Wire) -> None:
    wire.server.sendall(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    wire.turn(0.01)
    assert not wire.connection.open


def test_a_large_request_goes_out_in_pieces_while_others_have_their_turn(wire: Wire) -> None:
    body = bytes(5_000_000)
    exchange = Exchange(wire.loop)
    wire.connection.send(exchange, (b"head", body))
    got, turns = 0, 0
    wire.server.setblocking(False)
    while got < len(body) + 4 and turns < 100_000:
        turns += 1
        wire.turn()
        try:
            got += len(wire.server.recv(1 << 20))
        except BlockingIOError:
            continue
    assert got == len(body) + 4
    assert turns > 5


def test_a_request_to_a_server_that_has_gone_ends_with_the_reason(wire: Wire) -> None:
    wire.server.close()
    exchange = wire.ask()
    wire.turn(0.02)
    assert exchange.lost is not None
    assert not wire.connection.open
