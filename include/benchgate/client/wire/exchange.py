"""One request and its answer on a connection: stamped reads in, parsed answer out.

Reads come with their time: from the receiver (``take``, see ``receiver.py``) or, over a transport, through
a queue (``reads``, see ``drain.py``), so that parsing one stream does not delay the stamp of another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

import httptools

from benchgate.client.wire.answer import Answer
from benchgate.client.wire.chunks import sole_event
from benchgate.client.wire.inflate import SUPPORTED, Inflate
from benchgate.client.wire.sse import BOM, SseDecoder

DONE_GRACE_S = 1.0  # the end of the HTTP message normally comes with [DONE] or right behind it
FIRST_FIELD = 9  # bytes that tell an event stream from anything else: a byte order mark and "event:"
EVENT_LIMIT = 64 * 1024 * 1024  # bytes of one event: a server that never ends it must not fill the memory
BODY_LIMIT = 64 * 1024 * 1024  # bytes kept of an answer that is no event stream


class Exchange:
    """State of one request on the wire. ``future`` resolves (to None) when the answer is complete or lost."""

    __slots__ = (
        "_between_chunks",
        "_chunk_ended",
        "_grace",
        "_inflate",
        "_loop",
        "_now",
        "_parser",
        "_sink",
        "_sse",
        "answer",
        "body",
        "bytes_in",
        "chunked",
        "complete",
        "content_type",
        "encoding",
        "ended_at",
        "events",
        "future",
        "headers_at",
        "http_status",
        "keep_alive",
        "last_read_at",
        "length",
        "location",
        "lost",
        "protocol_error",
        "queued",
        "read_count",
        "reads",
        "sent_at",
        "stream",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, *, keep_text: bool = False) -> None:
        self._loop = loop
        self.reads: deque[tuple[float, bytes]] = deque()
        self.queued = False  # waits in the drain
        self.future: asyncio.Future[None] = loop.create_future()
        self.answer = Answer(keep_text=keep_text)
        self.sent_at: float | None = None
        self.last_read_at: float | None = None
        self.ended_at: float | None = None  # when it broke off; None while it runs, and where it came to its own end
        self.headers_at: float | None = None
        self.http_status: int | None = None
        self.content_type = ""
        self.encoding = ""
        self.length: int | None = None
        self.location: str | None = None  # where a redirect points
        self.chunked = False
        self.stream = False  # the answer is an event stream
        self.complete = False
        self.keep_alive = False
        self.lost: str | None = None  # why the connection ended before the answer did
        self.protocol_error: str | None = None
        self.body = bytearray()  # of an answer that is no event stream, whatever it calls itself
        self.bytes_in = 0
        self.read_count = 0
        self.events = 0  # events of any sort, for events per read
        self._sse: SseDecoder | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._inflate: Inflate | None = None
        self._sink: Callable[[bytes], None] | None = self._collect
        self._now = 0.0
        self._chunk_ended = False
        self._between_chunks = False  # in an event stream, and nothing of the next chunk or event was read
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    def release(self) -> None:
        """Let go of parser and callbacks, which refer back: while measuring, no collector would ever free them."""
        self._parser = self._sink = self._sse = self._inflate = None
        self.reads.clear()
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    # -- called by the drain ---------------------------------------------------------------------------------------

    def work(self) -> None:
        """Parse the oldest read."""
        self.take(*self.reads.popleft())

    def parse(self) -> None:
        """Parse every read that waits."""
        reads = self.reads
        while reads:
            self.take(*reads.popleft())

    def take(self, at: float, data: bytes) -> None:
        """Parse a read that came at ``at``."""
        self._now = at
        self.read_count += 1
        self.bytes_in += len(data)
        if self._between_chunks:
            if self.answer.on_chunk(data, at):
                self.events += 1
                return
            payload = sole_event(data)
            if payload is not None:
                self.events += 1
                self.answer.on_event(payload, at)
                return
        if self.complete or self.protocol_error or self._parser is None:
            self.keep_alive = False  # bytes after the end: the connection will not be used again
            return
        self._chunk_ended = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._break("no valid HTTP answer: it switches to another protocol")
        except httptools.HttpParserError as error:
            if self.complete:  # what follows a whole answer spoils the connection, not the answer
                self.keep_alive = False
            elif isinstance(error, httptools.HttpParserCallbackError):
                self._break(_unreadable(error.__context__ or error))
            else:
                self._break(f"no valid HTTP answer: {error}")
        if self.protocol_error:
            self._resolve()
        sse = self._sse
        self._between_chunks = (
            self._chunk_ended
            and sse is not None
            and sse.clean
            and self._inflate is None
            and data[-2:] == b"\r\n"
            and not self.complete
            and not self.protocol_error
        )

    def connection_ended(self, reason: str) -> None:
        """The connection is gone, and every read that came before is parsed."""
        if self.complete:
            return
        if self.headers_at is not None and self.length is None and not self.chunked and not self.protocol_error:
            self.on_message_complete()  # an answer without a length ends where the connection does
            return
        self.lost = self.lost or reason
        self.ended_at = monotonic()
        self._resolve()

    # -- httptools callbacks ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins. A second one is nobody's: what is known of the first stays."""
        if self.complete:
            raise ValueError("bytes behind the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what decides how the body is read."""
        name = name.lower()
        if name == b"content-type":
            self.content_type = value.decode("latin-1").partition(";")[0].strip().lower()
        elif name == b"location":
            self.location = value.decode("latin-1")
        elif name == b"content-encoding":
            self.encoding = value.decode("latin-1").strip().lower()
        elif name == b"content-length":
            self.length = int(value)
        elif name == b"transfer-encoding":
            codings = [coding.strip() for coding in value.decode("latin-1").lower().split(",")]
            self.chunked = "chunked" in codings
            self.encoding = self.encoding or next((coding for coding in codings if coding in SUPPORTED), "")

    def on_headers_complete(self) -> None:
        """Choose how the body is read."""
        parser = self._parser
        assert parser is not None
        status = parser.get_status_code()
        if status < 200:
            return  # 100 Continue and friends: the real answer follows
        self.http_status = status
        self.headers_at = self._now
        self.keep_alive = parser.should_keep_alive()
        if self.encoding in ("", "identity"):
            pass
        elif self.encoding in SUPPORTED:
            self._inflate = Inflate(self.encoding)
        else:
            self.protocol_error = f"content-encoding {self.encoding!r} was not asked for and is not supported"
        if status == 200 and self.content_type == "text/event-stream":
            self._read_events()
        elif status == 200:
            self._sink = self._recognise

    def on_body(self, body: bytes) -> None:
        """A piece of the body, without its transfer framing."""
        if self._inflate is not None:
            body = self._inflate.feed(body)
        if body and self._sink is not None:
            self._sink(body)

    def on_chunk_header(self) -> None:
        """A chunk begins."""
        self._chunk_ended = False

    def on_chunk_complete(self) -> None:
        """A chunk has ended, with its line end."""
        self._chunk_ended = True

    def on_message_complete(self) -> None:
        """The body has ended as it should."""
        if self.http_status is None:
            return  # end of a 1xx answer
        if self._inflate is not None:
            rest = self._inflate.finish()
            if rest and self._sink is not None:
                self._sink(rest)
            if self._inflate.cut and not self.answer.done:
                self.lost = "the compressed answer stopped"
        if self._sse is not None and self.lost is None:
            for payload in self._sse.finish():
                self.events += 1
                self.answer.on_event(payload, self._now)
            if not self.events:
                self.body += self._sse.stray
        self.complete = True
        self._resolve()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _feed_stream(self, body: bytes) -> None:
        now = self._now
        on_event = self.answer.on_event
        for payload in self._sse.feed(body):  # type: ignore[union-attr]
            self.events += 1
            on_event(payload, now)
        if self._sse.pending > EVENT_LIMIT:  # type: ignore[union-attr]
            self._sink = None
            self._break(f"an event is larger than {EVENT_LIMIT // 2**20} MiB")
        if self.answer.done and self._grace is None:
            # [DONE] ends the answer also where the server then forgets to end the HTTP message
            self._grace = self._loop.call_later(DONE_GRACE_S, self._resolve)

    def _read_events(self) -> None:
        self.stream = True
        self._sse = SseDecoder()
        self._sink = self._feed_stream

    def _recognise(self, body: bytes) -> None:
        """Some servers and proxies do not label a stream as one: its first bytes tell."""
        self.body += body
        if len(self.body) >= FIRST_FIELD:
            self._sink = self._collect
            if bytes(self.body).removeprefix(BOM).startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
                start = bytes(self.body)
                self.body.clear()
                self._read_events()
                self._feed_stream(start)

    def _collect(self, body: bytes) -> None:
        if len(self.body) < BODY_LIMIT:
            self.body += body

    def _break(self, message: str) -> None:
        self.protocol_error = self.protocol_error or message
        self._resolve()

    def _resolve(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
        if not self.future.done():
            self.future.set_result(None)


def _unreadable(why: BaseException) -> str:
    return f"the answer could not be read: {type(why).__name__}: {why}"
