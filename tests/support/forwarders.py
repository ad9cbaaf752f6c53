"""Things that stand between a client and a server: a TLS terminator and an HTTP proxy, on loopback, in a thread."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Certificate and key for localhost and 127.0.0.1."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@dataclass
class Forwarder:
    """A listener on a free port of 127.0.0.1."""

    port: int = 0
    seen: list[str] = field(default_factory=list)  # first line of each request (proxy only)
    headers: list[str] = field(default_factory=list)


@contextmanager
def _serving(handler_for: Callable[[Forwarder], Handler], context: ssl.SSLContext | None) -> Iterator[Forwarder]:
    forwarder = Forwarder()
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(handler_for(forwarder), "127.0.0.1", 0, ssl=context)
        forwarder.port = server.sockets[0].getsockname()[1]
        started.set()
        while not stop.is_set():
            await asyncio.sleep(0.01)
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield forwarder
    finally:
        stop.set()
        thread.join(10)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass
    finally:
        writer.close()


async def _join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter], other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    await asyncio.gather(_copy(one[0], other[1]), _copy(other[0], one[1]))


@contextmanager
def tls_terminator(to_port: int, folder: Path) -> Iterator[tuple[Forwarder, Path]]:
    """TLS in front of a plain server; yields it with the certificate to trust."""
    certificate, key = self_signed(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def handler_for(_: Forwarder) -> Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _join((reader, writer), await asyncio.open_connection("127.0.0.1", to_port))

        return handle

    with _serving(handler_for, context) as forwarder:
        yield forwarder, certificate


@contextmanager
def http_proxy(*, refuse: bool = False) -> Iterator[Forwarder]:
    """A forward proxy: CONNECT tunnels, and absolute-form requests. ``refuse`` answers 407 to everything."""

    def handler_for(forwarder: Forwarder) -> Handler:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:  # opened and never used
                writer.close()
                return
            first, _, rest = head.partition(b"\r\n")
            method, address, _ = first.decode().split()
            forwarder.seen.append(first.decode())
            forwarder.headers.append(rest.decode())
            if refuse:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                writer.close()
                return
            if method == "CONNECT":
                host, _, port = address.rpartition(":")
                up = await asyncio.open_connection(host, int(port))
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                where, _, path = address.removeprefix("http://").partition("/")
                host, _, port = where.rpartition(":")
                up = await asyncio.open_connection(host, int(port))
                # one request a connection is enough here: the client is told so by the server's own keep-alive
                up[1].write(
                    f"{method} /{path} HTTP/1.1\r\n".encode()
                    + rest.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
                )
            await _join((reader, writer), up)

        return handle

    with _serving(handler_for, None) as forwarder:
        yield forwarder
