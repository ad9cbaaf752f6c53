"""Connections that are open before they are needed, so that waiting for one never hides in a TTFT."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from time import monotonic

from benchgate.client.wire.connection import HttpConnection, TransportConnection
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.reading_loop import ReadingLoop
from benchgate.client.wire.receiver import PlainConnection, Receiver
from benchgate.client.wire.target import Target

CONNECTS_AT_ONCE = 64  # a listen backlog is often 128: more SYNs at once would be dropped and retried a second later
CONNECT_TIMEOUT_S = 30.0
STALE_ENOUGH = 3  # dead idle connections before a server counts as one that closes after each reply
SLOW_CONNECT_S = 0.005  # from here on a spare connection is worth opening while a stream still runs


class ConnectError(Exception):
    """No connection: the message says where and why."""


class Pool:
    """Idle connections of one process, last used first (the others may have been closed by the server meanwhile)."""

    def __init__(self, target: Target, drain: Drain, loop: asyncio.AbstractEventLoop) -> None:
        self.target = target
        self._drain = drain
        self._loop = loop
        self._idle: list[HttpConnection] = []
        self._connecting = asyncio.Semaphore(CONNECTS_AT_ONCE)
        self._addresses: list[tuple[int, tuple[object, ...]]] = []
        self._spares: set[asyncio.Task[None]] = set()
        self._attempts: set[asyncio.Task[HttpConnection]] = set()
        self.halted = False  # the run is over: nobody waits for a connection any more
        self._kept = 0  # replies that came over a connection that was used before
        self._stale = 0  # requests that met a connection which the server had closed in spite of its keep-alive
        self.slowest_connect_s = 0.0
        self.opened = 0
        self.receiver: Receiver | None = None

    async def acquire(self, *, fresh: bool = False) -> HttpConnection:
        """An open connection: an idle one, or a new one. ``fresh``: a new one, because an idle one was dead.

        Raises:
            ConnectError: the server (or proxy) cannot be reached.
        """
        while self._idle and not fresh:
            connection = self._idle.pop()
            if connection.reusable:
                return connection
            connection.close()
        return await self.connect()

    def note_reuse(self, *, stale: bool) -> None:
        """What became of a request over a connection that was used before."""
        self._stale += stale
        self._kept += not stale

    @property
    def closes_after_reply(self) -> bool:
        """The server promises keep-alive and closes all the same: using its connections again only costs a retry."""
        return self._stale >= STALE_ENOUGH and self._stale > self._kept

    def release(self, connection: HttpConnection) -> None:
        """Give a connection back; a closed one, or one that will be, is dropped."""
        if connection.reusable and not (connection.served and self.closes_after_reply):
            self._idle.append(connection)
        else:
            connection.close()

    async def open_ahead(self, count: int) -> None:
        """Open up to ``count`` idle connections; stops quietly where the server refuses."""
        missing = iter(range(count - sum(connection.reusable for connection in self._idle)))

        async def some() -> None:
            with contextlib.suppress(ConnectError):
                for _ in missing:
                    self._idle.append(await self.connect())

        await asyncio.gather(*(some() for _ in range(min(count, CONNECTS_AT_ONCE))))

    def open_spare(self) -> None:
        """While a stream runs: have the next connection ready, where the server closes each and connecting is slow.

        A spare costs servers with a thread per connection a thread, so it is opened only when both were observed.
        """
        if self.slowest_connect_s < SLOW_CONNECT_S or not self.closes_after_reply:
            return
        if any(connection.reusable for connection in self._idle):
            return
        task = self._loop.create_task(self.open_ahead(1))
        self._spares.add(task)
        task.add_done_callback(self._spares.discard)

    def halt(self) -> None:
        """The run is over: who waits for a connection gets a :class:`ConnectError` now, until ``halted`` is unset."""
        self.halted = True
        for attempt in self._attempts:
            attempt.cancel()

    async def connect(self) -> HttpConnection:
        """Open a new connection, TLS and proxy tunnel included."""
        async with self._connecting:
            started = monotonic()
            try:
                connection = await self._attempt()
            except ssl.SSLError as error:
                raise ConnectError(f"TLS with {self._where} failed: {error}") from None
            except OSError as error:
                why = os.strerror(error.errno) if error.errno else str(error)
                raise ConnectError(f"cannot connect to {self._where}: {why}") from None
            connection.connect_s = monotonic() - started
            self.slowest_connect_s = max(self.slowest_connect_s, connection.connect_s)
            self.opened += 1
            return connection

    async def _attempt(self) -> HttpConnection:
        if self.halted:
            raise ConnectError("the run had ended before there was a connection")
        attempt = self._loop.create_task(self._connect())
        self._attempts.add(attempt)
        try:
            await asyncio.wait((attempt,), timeout=CONNECT_TIMEOUT_S)
        finally:
            self._attempts.discard(attempt)
            in_time = not attempt.cancel()
        if not in_time:
            raise ConnectError(f"no connection to {self._where} within {CONNECT_TIMEOUT_S:g} s")
        if attempt.cancelled():
            raise ConnectError("the run ended before there was a connection")
        try:
            return attempt.result()
        finally:
            del attempt  # an error's traceback refers to this frame: no collector would free the two

    @property
    def _where(self) -> str:
        proxy = self.target.proxy
        return self.target.origin if proxy is None else f"{self.target.origin} through proxy {proxy.host}:{proxy.port}"

    async def _connect(self) -> HttpConnection:
        if not self._addresses:
            await self._resolve()
        failure: OSError | None = None
        for index, (family, address) in enumerate(self._addresses):
            sock = socket.socket(socket.AddressFamily(family), socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._loop.sock_connect(sock, address)
                connection = await self._wrap(sock)
            except OSError as error:
                sock.close()
                failure = error
                continue
            except BaseException:
                sock.close()
                raise
            if index:  # this address works: ask it first from now on
                self._addresses.insert(0, self._addresses.pop(index))
            return connection
        try:
            raise failure or OSError("no address")
        finally:
            failure = None  # it refers to this frame, and no collector would free the two

    async def _resolve(self) -> None:
        host, port = self.target.connect_to
        try:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise ConnectError(f"cannot find the host {host!r}: {error.strerror}") from None
        self._addresses = [(family, address) for family, _, _, _, address in found]

    async def _wrap(self, sock: socket.socket) -> HttpConnection:
        target = self.target
        if target.tls is not None and target.proxy is not None:
            await self._tunnel(sock)
        if target.tls is None and isinstance(self._loop, ReadingLoop):
            if self.receiver is None:
                self.receiver = Receiver(self._loop.selector)
            return PlainConnection(self.receiver, sock)
        _, connection = await self._loop.create_connection(
            lambda: TransportConnection(self._drain, sock if target.tls is None else None),
            sock=sock,
            ssl=target.tls,
            server_hostname=target.host if target.tls is not None else None,
        )
        return connection

    async def _tunnel(self, sock: socket.socket) -> None:
        """CONNECT through the proxy, before TLS with the server starts on the same socket."""
        target = self.target
        where = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}", "User-Agent: benchgate"]
        if target.proxy and target.proxy.authorization:
            lines.append(f"Proxy-Authorization: {target.proxy.authorization}")
        await self._loop.sock_sendall(sock, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            # byte by byte would be exact; a proxy sends nothing behind its answer before we speak TLS
            data = await self._loop.sock_recv(sock, 4096)
            if not data or len(answer) > 65536:
                raise OSError(f"the proxy closed the tunnel: {answer[:100]!r}")
            answer += data
        status = answer.split(b"\r\n", 1)[0].decode("latin-1")
        if len(status.split()) < 2 or not status.split()[1].startswith("2"):
            raise OSError(f"the proxy refused the tunnel: {status}")

    def parse(self) -> None:
        """Parse what was read and still waits to be parsed."""
        if self.receiver is not None:
            self.receiver.parse()

    async def close(self) -> None:
        """Close every connection."""
        for task in list(self._spares):
            task.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        if self.receiver is not None:
            self.receiver.close()
            self.receiver = None
        await asyncio.sleep(0)
