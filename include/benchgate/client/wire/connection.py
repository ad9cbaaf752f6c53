"""A raw HTTP/1.1 client connection: requests go out here, stamped at the write.

Two kinds: :class:`PlainConnection <benchgate.client.wire.receiver.PlainConnection>` reads its socket itself, with the
kernel's time of receipt. :class:`TransportConnection` stands on a transport of the event loop, as TLS needs it and as
systems without epoll have it, and stamps a read when it is told of it.
"""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import monotonic
from typing import cast

from benchgate.client.wire.drain import Drain
from benchgate.client.wire.exchange import Exchange

PIECE = 256 * 1024  # bytes handed to the kernel at a time: a 5 MB prompt lets other sockets have their turn in between


class HttpConnection(ABC):
    """One connection, one exchange at a time."""

    __slots__ = ("_unsent", "connect_s", "end_reason", "exchange", "open", "served")

    def __init__(self) -> None:
        self._unsent: list[memoryview] = []  # pieces of a request, the next one last
        self.exchange: Exchange | None = None
        self.open = False
        self.served = 0  # answers that came over this connection
        self.connect_s = 0.0
        self.end_reason = "connection closed by the server"

    def send(self, exchange: Exchange, pieces: Sequence[bytes | memoryview]) -> None:
        """Write a request. ``exchange.sent_at`` is stamped right before its first byte is written."""
        self.exchange = exchange
        total = sum(len(piece) for piece in pieces)
        if total <= PIECE:
            self._write_first(exchange, b"".join(pieces))
            return
        self._unsent = [memoryview(piece)[at : at + PIECE] for piece in pieces for at in range(0, len(piece), PIECE)]
        self._unsent.reverse()
        self._write_first(exchange, self._unsent.pop())
        self._write_rest()

    @abstractmethod
    def _write_first(self, exchange: Exchange, data: bytes | memoryview) -> None:
        """Stamp, and hand the first bytes to the kernel right then."""

    @abstractmethod
    def _write_rest(self) -> None:
        """Write ``_unsent`` piece by piece, with turns of the loop in between."""

    @abstractmethod
    def close(self) -> None:
        """Close without waiting: an exchange that is still in flight is forgotten."""

    def lost(self, error: BaseException | None) -> None:
        """Nothing more will come. Whatever was read before must be parsed by now."""
        self.open = False
        self._unsent.clear()
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.connection_ended(
                self.end_reason if error is None else f"connection lost: {error or type(error).__name__}"
            )

    def finish(self) -> None:
        """The answer is complete; the connection may be used again if :meth:`reusable` says so."""
        exchange, self.exchange = self.exchange, None
        self.served += 1
        if exchange is None or not exchange.complete or not exchange.keep_alive or self._unsent:
            self.close()

    @property
    def reusable(self) -> bool:
        """Open, idle, and not about to be closed."""
        return self.open and self.exchange is None


class TransportConnection(HttpConnection, asyncio.Protocol):
    """A connection on a transport of the event loop."""

    def __init__(self, drain: Drain, sock: socket.socket | None = None) -> None:
        """``sock`` is the plain socket under the transport; None where TLS stands between."""
        super().__init__()
        self._drain = drain
        self._socket = sock
        self._pump_scheduled = False
        self._paused = False
        self.transport: asyncio.Transport | None = None

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; small write buffer, so that large bodies go out piece by piece."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own class does not derive from it
        self.open = True
        self.transport.set_write_buffer_limits(high=PIECE)

    def data_received(self, data: bytes) -> None:
        """Stamp and queue; bytes that nobody asked for make the connection unusable."""
        now = monotonic()
        exchange = self.exchange
        if exchange is None:
            self.close()
            return
        exchange.reads.append((now, data))
        exchange.last_read_at = now
        self._drain.own_stamps += 1
        if not exchange.queued:
            self._drain.take(exchange, now)

    def eof_received(self) -> bool:
        """The server has finished sending; we have nothing to say to a half-closed connection."""
        self.open = False
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand what was read to the exchange, then tell it that nothing more will come."""
        if self.exchange is not None:
            self._drain.finish(self.exchange)
        self.lost(exc)

    def pause_writing(self) -> None:
        """The kernel's buffer is full."""
        self._paused = True

    def resume_writing(self) -> None:
        """The kernel takes bytes again."""
        self._paused = False
        self._pump()

    # -- sending ---------------------------------------------------------------------------------------------------

    def _write_first(self, exchange: Exchange, data: bytes | memoryview) -> None:
        """An event loop's transport keeps a write for the end of its turn: the stamp would come up to 0.1 ms early."""
        assert self.transport is not None
        if self._socket is None:
            exchange.sent_at = monotonic()
            self.transport.write(data)
            return
        exchange.sent_at = monotonic()
        try:
            written = self._socket.send(data)
        except BlockingIOError:
            written = 0
        except OSError:
            written = 0  # the transport meets the same error and reports it through connection_lost
        if written < len(data):
            self.transport.write(memoryview(data)[written:])

    def _write_rest(self) -> None:
        if self._unsent and not self._paused and not self._pump_scheduled:
            self._pump_scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Write the next piece, and come back in the next turn of the loop for the one after."""
        self._pump_scheduled = False
        if not self._unsent or not self.open or self.transport is None or self._paused:
            return
        self.transport.write(self._unsent.pop())
        self._write_rest()

    # -- ending ----------------------------------------------------------------------------------------------------

    @property
    def reusable(self) -> bool:
        """Open, idle, and not about to be closed."""
        return super().reusable and self.transport is not None and not self.transport.is_closing()

    def close(self) -> None:
        """Close without waiting: an exchange that is still in flight is forgotten."""
        self.open = False
        self.exchange = None
        if self.transport is not None:
            self.transport.abort()
