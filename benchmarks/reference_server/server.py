"""The loop: one thread, epoll and a heap of timers. Tokens are written when due and stamped at the write.

A plain epoll loop is used, and not an event-loop library, because a library's transport may keep a write for the end of
its turn: the stamp would then say when the write was asked for, and at 1024 streams that is milliseconds early.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import select
import socket
import time
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.reference_server.connection import SO_TIMESTAMPNS, Connection, make_reply
from benchmarks.reference_server.schedule import Settings
from benchmarks.reference_server.truth import RequestTruth


class Timer(Protocol):
    """Something to do at a time."""

    def fire(self, now_ns: int) -> int | None:
        """Do it; returns when to be called again, or None."""


@dataclass(frozen=True)
class Options:
    """How the server behaves for requests that do not say otherwise."""

    settings: Settings = field(default_factory=Settings)
    max_model_len: int = 4_194_304
    api_key: str | None = None
    accept_delay_ms: float = 0.0
    backlog: int = 4096
    idle_close_ms: float | None = None
    scenario_in_prompt: bool = False  # a prompt may name its scenario: "scenario=stall"


class _Accept:
    """A slow accept: connections wait in the kernel's queue."""

    def __init__(self, server: ReferenceServer) -> None:
        self.server = server

    def fire(self, now_ns: int) -> int | None:
        """Accept what waits and listen again."""
        del now_ns
        self.server.accept()
        self.server.poller.register(self.server.listener, select.EPOLLIN)
        return None


class _IdleClose:
    """Closes a kept-alive connection that nobody used for a while."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.requests = connection.requests

    def fire(self, now_ns: int) -> int | None:
        """Close it if it is still idle."""
        del now_ns
        if self.connection.requests == self.requests and self.connection.received_ns is None:
            self.connection.close()
        return None


class ReferenceServer:
    """A simulated server on one socket. :meth:`run` serves until :meth:`stop`."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, options: Options | None = None) -> None:
        self.options = options or Options()
        self.truth: list[RequestTruth] = []
        self.running = self.finished = self.prompt_tokens = self.generation_tokens = 0
        self.poller = select.epoll()
        self.clock_offset_ns = time.time_ns() - time.monotonic_ns()
        self.reply = functools.lru_cache(maxsize=512)(make_reply)
        self._timers: list[tuple[int, int, Timer]] = []
        self._order = itertools.count()
        self._connections: dict[int, Connection] = {}
        self._accepted = itertools.count()
        self._stopping = False
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.listener.bind((host, port))
        self.listener.listen(self.options.backlog)
        self.listener.setblocking(False)
        self.port = int(self.listener.getsockname()[1])

    # --- bookkeeping for connections
    def at(self, due_ns: int, timer: Timer) -> None:
        """Call ``timer.fire`` when ``due_ns`` has come."""
        heapq.heappush(self._timers, (due_ns, next(self._order), timer))

    def started(self, truth: RequestTruth) -> None:
        """A completion request was read."""
        self.truth.append(truth)
        self.running += 1
        self.prompt_tokens += truth.prompt_tokens

    def ended(self, truth: RequestTruth) -> None:
        """An answer is over, one way or another."""
        self.running -= 1
        self.finished += truth.ended in ("keep", "close")
        self.generation_tokens += sum(truth.event_tokens[: len(truth.token_ns)])

    def idle(self, connection: Connection) -> None:
        """A connection waits for its next request."""
        if self.options.idle_close_ms is not None:
            self.at(time.monotonic_ns() + int(self.options.idle_close_ms * 1e6), _IdleClose(connection))

    def forget(self, connection: Connection) -> None:
        """A connection is closed."""
        del self._connections[connection.sock.fileno()]
        self.poller.unregister(connection.sock)

    # --- the loop
    def accept(self) -> None:
        """Take every connection that waits."""
        while True:
            try:
                sock, _ = self.listener.accept()
            except BlockingIOError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self._connections[sock.fileno()] = Connection(self, sock, next(self._accepted))
            self.poller.register(sock, select.EPOLLIN)

    def _incoming(self) -> None:
        if self.options.accept_delay_ms:
            self.poller.unregister(self.listener)
            self.at(time.monotonic_ns() + int(self.options.accept_delay_ms * 1e6), _Accept(self))
        else:
            self.accept()

    def _fire_due(self) -> None:
        timers, now = self._timers, time.monotonic_ns()
        while timers and timers[0][0] <= now:
            _, order, timer = heapq.heappop(timers)
            again = timer.fire(now)
            if again is not None:
                heapq.heappush(timers, (again, order, timer))

    def _wait_s(self) -> float:
        if not self._timers:
            return 0.5  # how soon a stop is noticed
        return min(0.5, max(0.0, (self._timers[0][0] - time.monotonic_ns()) / 1e9))

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        self.poller.register(self.listener, select.EPOLLIN)
        listening = self.listener.fileno()
        while not self._stopping:
            events = self.poller.poll(self._wait_s())
            self._compare_clocks()
            for fd, mask in events:
                if fd == listening:
                    self._incoming()
                    continue
                connection = self._connections.get(fd)
                if connection is None:
                    continue
                if mask & select.EPOLLOUT:
                    connection.writable()
                if mask & ~select.EPOLLOUT and not connection.closed:
                    connection.readable()
            self._fire_due()
        for connection in list(self._connections.values()):
            connection.close()
        self.listener.close()
        self.poller.close()

    def _compare_clocks(self) -> None:
        """The kernel stamps receipts with the wall clock. A pause between the two readings makes the difference small,
        never large: the largest counts, less what clocks may be slewed meanwhile.
        """
        self.clock_offset_ns = max(time.time_ns() - time.monotonic_ns(), self.clock_offset_ns - 1000)

    def stop(self) -> None:
        """End :meth:`run` soon; safe in a signal handler."""
        self._stopping = True
