"""Replies as bytes, and exchanges that have read them: the wire without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchgate.client.outcome import fill
from benchgate.client.wire.exchange import Exchange
from benchgate.request_record import RequestRecord

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def event(payload: object) -> bytes:
    """One server-sent event."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"data: {text}\n\n".encode()


def delta(finish: str | None = None, **channels: object) -> bytes:
    """An event of a chat stream."""
    return event({"choices": [{"index": 0, "delta": channels, "finish_reason": finish}]})


def usage(prompt: int, completion: int, **details: object) -> bytes:
    """The usage event at the end of a stream."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, **details}
    return event({"choices": [], "usage": counts})


def chunk(body: bytes) -> bytes:
    """Transfer framing."""
    return b"%x\r\n%s\r\n" % (len(body), body)


def json_reply(status: int, body: object, content_type: str = "application/json") -> bytes:
    """A whole answer with its length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


@contextmanager
def an_exchange(*, keep_text: bool = False) -> Iterator[Exchange]:
    """An exchange on a loop of its own."""
    loop = asyncio.new_event_loop()
    try:
        yield Exchange(loop, keep_text=keep_text)
    finally:
        loop.close()


def read(exchange: Exchange, data: bytes, at: float) -> None:
    """One read from the socket."""
    exchange.reads.append((at, data))
    exchange.last_read_at = at
    exchange.work()


def record_of(
    reads: Sequence[tuple[float, bytes]],
    *,
    closed: str | None = None,
    ended_by: str | None = None,
    max_tokens: int = 16,
    sent_at: float = 0.0,
) -> RequestRecord:
    """The record of a request whose answer came in these reads.

    Args:
        closed: why the connection ended after the last read; None: it stayed open.
    """
    with an_exchange() as exchange:
        exchange.sent_at = sent_at
        for at, data in reads:
            read(exchange, data, at)
        if closed is not None:
            exchange.connection_ended(closed)
        record = RequestRecord(1, max_tokens=max_tokens)
        fill(record, exchange, ended_by=ended_by)
        return record


def stream(*events: bytes, begin: float = 1.0, gap: float = 1.0, end: bool = True) -> list[tuple[float, bytes]]:
    """Reads of a chunked stream: head at 0.5 s, then one event a read, ``gap`` apart, then its end."""
    reads = [(0.5, STREAM_HEAD)]
    reads += [(begin + gap * number, chunk(one)) for number, one in enumerate(events)]
    if end:
        reads.append((reads[-1][0] + 0.1, LAST_CHUNK))
    return reads
