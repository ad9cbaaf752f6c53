"""One client connection: requests in, timed writes out. Everything on the hot path is here."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from typing import TYPE_CHECKING

import httptools

from benchmarks.reference_server import endpoints, scenarios
from benchmarks.reference_server.reply import CLOSE, HANG, KEEP, RESET, Reply, Request
from benchmarks.reference_server.schedule import ScheduleError
from benchmarks.reference_server.truth import RequestTruth

if TYPE_CHECKING:
    from benchmarks.reference_server.server import ReferenceServer

READ_BYTES = 262_144
SO_TIMESTAMPNS = 35  # Linux: the kernel's time of receipt comes with the data
ANCILLARY = socket.CMSG_SPACE(16)


class Answer:
    """A reply under way: a timer object whose :meth:`fire` writes all that is due."""

    __slots__ = ("connection", "next", "over", "reply", "truth")

    def __init__(self, connection: Connection, reply: Reply, truth: RequestTruth) -> None:
        self.connection = connection
        self.reply = reply
        self.truth = truth
        self.next = 0
        self.over = False

    def due_ns(self) -> int | None:
        """When the next write is due; None after the last."""
        steps = self.reply.steps
        if self.next >= len(steps):
            return None
        return self.truth.received_ns + int(steps[self.next].offset_s * 1e9)

    def fire(self, now_ns: int) -> int | None:
        """Write every step that is due, stamped just before its write; returns when to come back."""
        if self.over:
            return None
        steps, truth, send = self.reply.steps, self.truth, self.connection.send
        start, clock, count = truth.received_ns, time.monotonic_ns, len(steps)
        while self.next < count:
            offset_s, data, tokens, _ = steps[self.next]
            due = start + int(offset_s * 1e9)
            if due > now_ns:
                return due
            self.next += 1
            if tokens:
                truth.token_ns.append(clock())
            elif truth.head_ns is None:
                truth.head_ns = clock()
            send(data)
            if self.over:  # the client went away during the write
                return None
        self.connection.finished(self)
        return None


class Connection:
    """Parses requests, keeps one answer going at a time, and writes straight to the socket."""

    def __init__(self, server: ReferenceServer, sock: socket.socket, index: int) -> None:
        self.server = server
        self.sock = sock
        self.index = index
        self.requests = 0
        self.pending = bytearray()  # what the kernel did not take at once
        self.closing = False
        self.closed = False
        self.answer: Answer | None = None
        self._fresh()

    def _fresh(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.headers: dict[str, str] = {}
        self.body: list[bytes] = []
        self.received_ns: int | None = None

    # --- what httptools calls
    def on_url(self, url: bytes) -> None:
        """A piece of the request target."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Some clients wait for leave to send a long body."""
        if self.headers.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        self.body.append(data)

    def on_message_complete(self) -> None:
        """The whole request is here."""
        method = self.parser.get_method().decode()
        path = self.url.decode("latin-1").partition("?")[0]
        data = b"".join(self.body)
        headers, received = self.headers, self.received_ns or time.monotonic_ns()
        keep_alive = self.parser.should_keep_alive()
        self.url, self.headers, self.body, self.received_ns = b"", {}, [], None
        key = self.server.options.api_key
        if key and path.startswith("/v1/") and headers.get("authorization") != f"Bearer {key}":
            self._respond(
                endpoints.refusal(endpoints.BadRequest("Unauthorized", 401, "AuthenticationError")), keep_alive
            )
        elif method == "POST" and path in endpoints.ENDPOINTS:
            self._complete(endpoints.ENDPOINTS[path], data, headers, received, keep_alive)
        else:
            self._respond(endpoints.other(method, path, data, self.server), keep_alive)

    # --- requests
    def _respond(self, data: bytes, keep_alive: bool) -> None:
        self.requests += 1
        self.send(data)
        if not keep_alive:
            self.close_when_sent()

    def _complete(self, endpoint: str, data: bytes, headers: dict[str, str], received: int, keep_alive: bool) -> None:
        read_ns = time.monotonic_ns()
        try:
            accepts = headers.get("accept-encoding", "")
            asked = endpoints.read_completion(endpoint, data, accepts, self.server)
            reply = self.server.reply(asked.scenario, asked.request)
        except ScheduleError as error:
            self._respond(endpoints.refusal(error), keep_alive)
            return
        steps = [step for step in reply.steps if step.tokens]
        tokens = sum(step.tokens for step in steps) if reply.completion_tokens is None else reply.completion_tokens
        truth = RequestTruth(
            index=len(self.server.truth),
            connection=self.index,
            requests_before=self.requests,
            scenario=asked.scenario,
            endpoint=endpoint,
            model=asked.request.model,
            client_request_id=headers.get("x-request-id"),
            prompt_tokens=asked.request.prompt_tokens,
            max_tokens=asked.max_tokens,
            received_ns=received,
            body_ns=read_ns,
            completion_tokens=tokens,
            finish_reason=reply.finish_reason,
            event_tokens=[step.tokens for step in steps],
            event_channels=[step.channel or "content" for step in steps],
            extra=asked.extra,
        )
        self.requests += 1
        self.server.started(truth)
        if not keep_alive and reply.ending == KEEP:
            reply = Reply(reply.steps, CLOSE, reply.completion_tokens, reply.finish_reason)
        self.answer = Answer(self, reply, truth)
        due = self.answer.due_ns()
        if due is not None:
            self.server.at(due, self.answer)
        else:
            self.finished(self.answer)

    def finished(self, answer: Answer) -> None:
        """All is written: end the connection as the scenario says."""
        ending = answer.reply.ending
        answer.truth.ended, answer.truth.ended_ns = ending, time.monotonic_ns()
        answer.over = True
        self.server.ended(answer.truth)
        if ending == HANG:
            return
        self.answer = None
        if ending == RESET:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close()
        elif ending == CLOSE:
            self.close_when_sent()
        else:
            self.server.idle(self)

    # --- the socket
    def readable(self) -> None:
        """Read what is there; the kernel's stamp of the first bytes is when the request was received."""
        try:
            data, ancillary, _, _ = self.sock.recvmsg(READ_BYTES, ANCILLARY)
        except BlockingIOError:
            return
        except OSError:
            self.lost()
            return
        if not data:
            self.lost()
            return
        if self.received_ns is None:
            self.received_ns = self._stamp(ancillary)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.close()
        except httptools.HttpParserError as error:
            self.send(endpoints.refusal(endpoints.BadRequest(f"not HTTP: {error}")))
            self.close_when_sent()

    def _stamp(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanoseconds = struct.unpack("qq", data[:16])
                return int(seconds) * 1_000_000_000 + int(nanoseconds) - self.server.clock_offset_ns
        return time.monotonic_ns()

    def send(self, data: bytes) -> None:
        """Hand bytes to the kernel now; what it does not take waits in order."""
        if self.closed or not data:
            return
        if self.pending:
            self.pending += data
            return
        try:
            sent = self.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.lost()
            return
        if sent < len(data):
            self.pending += data[sent:]
            self.server.poller.modify(self.sock, select.EPOLLIN | select.EPOLLOUT)

    def writable(self) -> None:
        """The kernel takes more."""
        try:
            sent = self.sock.send(self.pending)
        except BlockingIOError:
            return
        except OSError:
            self.lost()
            return
        del self.pending[:sent]
        if not self.pending:
            self.server.poller.modify(self.sock, select.EPOLLIN)
            if self.closing:
                self.close()

    def close_when_sent(self) -> None:
        """Close in order: after the last byte."""
        self.closing = True
        if not self.pending:
            self.close()

    def lost(self) -> None:
        """The client went away."""
        if self.answer is not None and not self.closed:
            if not self.answer.over:
                self.server.ended(self.answer.truth)
            self.answer.over = True
            self.answer.truth.ended, self.answer.truth.ended_ns = "client_closed", time.monotonic_ns()
        self.close()

    def close(self) -> None:
        """Close now."""
        if not self.closed:
            self.closed = True
            self.server.forget(self)
            with contextlib.suppress(OSError):
                self.sock.close()


def make_reply(scenario: str, request: Request) -> Reply:
    """A scenario's reply; without streaming, a whole answer or the error that stands for the fault."""
    if request.stream or scenario in {s.__name__ for s in scenarios.answers.SCENARIOS}:
        return scenarios.answer(scenario, request)
    if scenario.startswith("harmony"):
        return scenarios.answer("http_500_harmony", request)
    return scenarios.answer("http_500" if scenario.startswith("error") else "no_stream", request)
