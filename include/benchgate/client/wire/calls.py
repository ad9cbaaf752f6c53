"""Single calls beside the load: model list, tokenizer, probes. Same connections, no schedule."""

from __future__ import annotations

import asyncio
from typing import Any

from orjson import dumps

from benchgate.client.wire.delta import parse_json
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.pool import Pool


class CallFailed(Exception):
    """No usable answer; the message says why."""


async def call(
    pool: Pool,
    method: str,
    path: str,
    body: object | None = None,
    *,
    api_key: str | None = None,
    timeout_s: float = 30.0,
) -> tuple[int, bytes]:
    """One request; status and body of its answer. One retry on a connection that the server had closed.

    Raises:
        CallFailed: timeout, or the connection ended before the answer did.
        benchgate.client.wire.pool.ConnectError: the server cannot be reached.
    """
    data = b"" if body is None else dumps(body)
    head = pool.target.head(method, path, length=len(data), api_key=api_key, accept="application/json")
    for attempt in (1, 2):
        connection = await pool.acquire(fresh=attempt == 2)
        reused = connection.served > 0
        exchange = Exchange(asyncio.get_running_loop())
        connection.send(exchange, (head, data))
        try:
            await asyncio.wait_for(asyncio.shield(exchange.future), timeout_s)
        except asyncio.TimeoutError:
            connection.close()
            raise CallFailed(f"{method} {path}: no answer within {timeout_s:g} s") from None
        if connection.exchange is exchange:
            connection.finish()
        pool.release(connection)
        exchange.release()
        if exchange.complete and exchange.http_status is not None:
            return exchange.http_status, bytes(exchange.body)
        if attempt == 1 and reused and exchange.last_read_at is None:
            continue
        raise CallFailed(f"{method} {path}: {exchange.protocol_error or exchange.lost or 'connection closed'}")
    raise AssertionError("unreachable")


async def call_json(pool: Pool, method: str, path: str, body: object | None = None, **options: Any) -> tuple[int, Any]:
    """Like :func:`call`, with the body as JSON; None when it is none."""
    status, data = await call(pool, method, path, body, **options)
    try:
        return status, parse_json(data)
    except ValueError:
        return status, None
