"""Reads all plain sockets of a process, each with the kernel's time of receipt (see ``kernel_clock.py``).

The event loop's own wait reads every socket that is ready (``reading_loop.py``), without a callback, a handle and a
buffer per read. Event loops' transports hand out no ancillary data, so they cannot tell the kernel's time at all. Since
the stamps are the kernel's, parsing may take the time it needs.
"""

from __future__ import annotations

import contextlib
import select
import socket
from time import monotonic

from benchgate.client.watch import LagHistogram
from benchgate.client.wire.connection import HttpConnection
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.kernel_clock import ANCILLARY, SO_TIMESTAMPNS, KernelClock, ask_for_stamps, unpack
from benchgate.client.wire.reading_loop import ReadingSelector, Ready

READ_BYTES = 256 * 1024
PATIENCE = 512  # reads from the middle of streams that may wait to be parsed together, with warm caches ...
MIDDLE = b"}\n\n\r\n"  # the end of an event and of its chunk; an answer ends with [DONE] and an empty line
SMALL = 4096  # ... of at most so many bytes each
TOLERANCE_S = 50e-6  # two clocks cannot be read at the same moment


class Receiver:
    """The plain connections of one loop."""

    def __init__(self, selector: ReadingSelector) -> None:
        self._selector = selector
        self._epoll = selector.epoll
        self._connections: dict[int, PlainConnection] = {}
        self._buffer = bytearray(READ_BYTES)
        self._clock = KernelClock()
        self._unparsed: list[Exchange] = []
        self._waiting = 0  # reads that they have
        self.lag = LagHistogram()  # how long bytes had waited in the kernel when they were read
        self.kernel_stamps = 0  # reads that have the kernel's time
        self.own_stamps = 0  # reads that have the time at which they were read
        # the kernel stamps packets only while somebody asks for it, and needs a moment to begin: this keeps it going
        self._keeper = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ask_for_stamps(self._keeper)
        selector.attach(self.turn)

    def add(self, connection: PlainConnection, sock: socket.socket) -> None:
        """Read this socket from now on."""
        self._epoll.register(sock.fileno(), select.EPOLLIN)
        self._connections[sock.fileno()] = connection

    def remove(self, sock: socket.socket) -> None:
        """Forget this socket, which is still open."""
        del self._connections[sock.fileno()]
        with contextlib.suppress(OSError):
            self._epoll.unregister(sock.fileno())

    def want_write(self, sock: socket.socket, *, wanted: bool) -> None:
        """Whether the connection is told (``writable``) when the kernel takes bytes."""
        self._epoll.modify(sock.fileno(), select.EPOLLIN | select.EPOLLOUT if wanted else select.EPOLLIN)

    def close(self) -> None:
        """Close every connection, and read nothing more."""
        for connection in list(self._connections.values()):
            connection.close()
        self._selector.detach()
        self._keeper.close()

    def parse(self) -> None:
        """Parse what was read and still waits. Whoever wants to know how far an answer is calls this before."""
        unparsed, self._unparsed, self._waiting = self._unparsed, [], 0
        for exchange in unparsed:
            exchange.parse()

    def turn(self, ready: Ready) -> bool:
        """Read what is ready; parse when an answer may have ended or enough has come together.

        On a core that sleeps between two tokens, parsing each at once costs three times as much as many in a row.

        Returns:
            Whether the loop may have something to do: a file of its own, or what an answer's end has called.
        """
        if not ready:
            return False
        steady = self._clock.compare()
        offset, begun = self._clock.offset, monotonic()
        connections, buffer, buffers = self._connections, self._buffer, (self._buffer,)
        unparsed = self._unparsed
        now: list[Exchange] = []
        ended: list[tuple[PlainConnection, OSError | None]] = []
        oldest = begun
        count = own = 0
        due = False
        for fd, mask in ready:
            connection = connections.get(fd)
            if connection is None:  # of the loop
                due = True
                continue
            if mask & select.EPOLLOUT:
                connection.writable()
                if not mask & ~select.EPOLLOUT:
                    continue
            try:
                size, ancillary, _, _ = connection.receive(buffers, ANCILLARY)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError as error:
                ended.append((connection, error.with_traceback(None)))  # its frames would refer back to ``ended``
                continue
            if not size:
                ended.append((connection, None))
                continue
            exchange = connection.exchange
            if exchange is None:  # bytes that nobody asked for make the connection unusable
                connection.close()
                continue
            at = 0.0
            if ancillary and steady and ancillary[0][1] == SO_TIMESTAMPNS:  # nothing else was asked for
                seconds, nanoseconds = unpack(ancillary[0][2])
                at = seconds - offset + nanoseconds * 1e-9
            before = exchange.last_read_at or exchange.sent_at or begun
            if at < before:
                if at < before - TOLERANCE_S:  # no stamp, or one that cannot be
                    at = monotonic()
                    own += 1
                else:
                    at = before
            elif at > begun and at > monotonic() + TOLERANCE_S:
                at = monotonic()
                own += 1
            if at < oldest:
                oldest = at
            exchange.last_read_at = at
            reads = exchange.reads
            if not reads:
                unparsed.append(exchange)
            data = bytes(buffer[:size])
            reads.append((at, data))
            count += 1
            if size > SMALL or not exchange.chunked or not data.endswith(MIDDLE):
                now.append(exchange)
        if count:
            self.own_stamps += own
            self.kernel_stamps += count - own
            self._waiting += count
            self.lag.note(begun - oldest, count)
        for exchange in now:
            exchange.parse()
        if self._waiting >= PATIENCE:
            self.parse()
            due = True
        for connection, problem in ended:
            if connection.exchange is not None:
                connection.exchange.parse()
            connection.forget()
            connection.lost(problem)
        return due or bool(now) or bool(ended)


class PlainConnection(HttpConnection):
    """A connection without TLS, read by the :class:`Receiver`."""

    __slots__ = ("_receiver", "_socket", "receive")

    def __init__(self, receiver: Receiver, sock: socket.socket) -> None:
        """``sock`` is connected and does not block; it belongs to the connection from now on."""
        super().__init__()
        self._receiver = receiver
        self._socket = sock
        self.receive = sock.recvmsg_into
        ask_for_stamps(sock)
        self.open = True
        receiver.add(self, sock)

    def _write_first(self, exchange: Exchange, data: bytes | memoryview) -> None:
        exchange.sent_at = monotonic()
        written = self._send(data)
        if written < len(data):
            self._unsent.append(memoryview(data)[written:])
            self._write_rest()

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            # The server has closed: what it said before can still be read, and its end tells what happened.
            self.open = False
            self._unsent.clear()
            return len(data)

    def _write_rest(self) -> None:
        if self._unsent:
            self._receiver.want_write(self._socket, wanted=True)

    def writable(self) -> None:
        """Write one piece; the next one in the next turn of the loop."""
        if self._unsent:
            data = self._unsent.pop()
            written = self._send(data)
            if written < len(data):
                self._unsent.append(data[written:])
        if not self._unsent:
            self._receiver.want_write(self._socket, wanted=False)

    def forget(self) -> None:
        """The socket has nothing more to read: close it, and keep the exchange for :meth:`lost`."""
        if self._socket.fileno() >= 0:
            self._receiver.remove(self._socket)
            self._socket.close()

    def close(self) -> None:
        """Close without waiting: an exchange that is still in flight is forgotten."""
        self.open = False
        self.exchange = None
        self._unsent.clear()
        self.forget()
