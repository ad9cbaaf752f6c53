"""Connections: what a server that takes none costs, and that the end of a run ends the wait for one."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator

import pytest

from benchgate.client.runtime import event_loop
from benchgate.client.wire.connection import HttpConnection
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.pool import CONNECTS_AT_ONCE, ConnectError, Pool
from benchgate.client.wire.target import parse_target


class Hanging(Pool):
    """Its server neither takes nor refuses a connection."""

    async def _connect(self) -> HttpConnection:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class Refused(Pool):
    """Its server refuses every connection."""

    asked = 0

    async def _connect(self) -> HttpConnection:
        self.asked += 1
        await asyncio.sleep(0)
        raise ConnectionRefusedError


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with event_loop(tls=False) as loop:
        yield loop


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def pool_for(kind: type[Pool], loop: asyncio.AbstractEventLoop, port: int = 9) -> Pool:
    return kind(parse_target(f"http://127.0.0.1:{port}", environment={}), Drain(loop), loop)


def test_the_end_of_the_run_ends_the_wait_for_a_connection(loop: asyncio.AbstractEventLoop) -> None:
    pool = pool_for(Hanging, loop)

    async def wait() -> list[object]:
        waiting = [asyncio.ensure_future(pool.acquire()) for _ in range(CONNECTS_AT_ONCE + 8)]
        await asyncio.sleep(0.01)
        pool.halt()
        return await asyncio.gather(*waiting, return_exceptions=True)

    ends = loop.run_until_complete(asyncio.wait_for(wait(), 20))

    assert [type(end) for end in ends] == [ConnectError] * (CONNECTS_AT_ONCE + 8)


def test_a_pool_goes_on_after_a_halt(loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
    pool = pool_for(Pool, loop, listener.getsockname()[1])

    async def again() -> bool:
        pool.halt()
        with pytest.raises(ConnectError):
            await pool.connect()
        pool.halted = False
        connection = await pool.connect()
        await pool.close()
        return connection.served == 0

    assert loop.run_until_complete(again())


def test_opening_ahead_stops_where_the_server_refuses(loop: asyncio.AbstractEventLoop) -> None:
    pool = pool_for(Refused, loop)

    loop.run_until_complete(pool.open_ahead(1000))

    assert pool.asked <= CONNECTS_AT_ONCE  # type: ignore[attr-defined]


def test_opening_ahead_opens_what_is_missing(loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
    pool = pool_for(Pool, loop, listener.getsockname()[1])

    async def twice() -> int:
        await pool.open_ahead(3)
        await pool.open_ahead(70)
        await pool.close()
        return pool.opened

    assert loop.run_until_complete(twice()) == 70


def test_a_refused_connection_is_freed_without_the_collector(loop: asyncio.AbstractEventLoop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    pool = pool_for(Pool, loop, port)

    async def refused() -> None:
        for _ in range(100):
            with pytest.raises(ConnectError, match="Connection refused"):
                await pool.connect()

    loop.run_until_complete(refused())
    gc.collect()
    gc.disable()
    try:
        loop.run_until_complete(refused())
        assert gc.collect() < 100
    finally:
        gc.enable()
