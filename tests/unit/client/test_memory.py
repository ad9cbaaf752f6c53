"""The measured window runs without the cycle collector: nothing of a finished answer may refer back to itself."""

from __future__ import annotations

import asyncio
import gc
import weakref

from benchgate.client.wire.exchange import Exchange
from tests.unit.client.replies import LAST_CHUNK, STREAM_HEAD, chunk, delta, read


class Watched(Exchange):
    """An exchange that can be referred to weakly."""


def test_a_finished_exchange_is_freed_without_the_collector() -> None:
    loop = asyncio.new_event_loop()
    gc.disable()
    try:
        exchange = Watched(loop)
        for data in (STREAM_HEAD, chunk(delta(content="a")), chunk(b"data: [DONE]\n\n"), LAST_CHUNK):
            read(exchange, data, 1.0)
        assert exchange.complete
        exchange.release()
        alive = weakref.ref(exchange)
        del exchange
        assert alive() is None
    finally:
        gc.enable()
        loop.close()
