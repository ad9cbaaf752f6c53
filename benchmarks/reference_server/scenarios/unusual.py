"""Scenarios that are legal or common, and rare enough that clients were never tried on them."""

from __future__ import annotations

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import CLOSE, HANG, STREAM_HEAD, STREAM_HEADERS, Reply, Request, Step, Stream
from benchmarks.reference_server.scenarios.tokens import steady


def _with_head(request: Request, head: bytes) -> Reply:
    reply = steady(request)
    return Reply([Step(0.0, head), *reply.steps[1:]], finish_reason=reply.finish_reason)


def unlabelled(request: Request) -> Reply:
    """An event stream without a content type."""
    return _with_head(request, frames.head(200, "OK", {"Transfer-Encoding": "chunked"}))


def plain_text(request: Request) -> Reply:
    """An event stream that a proxy has labelled text/plain."""
    return _with_head(request, frames.head(200, "OK", {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}))


def early_hints(request: Request) -> Reply:
    """HTTP 103 before the real answer."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    return _with_head(request, hints + STREAM_HEAD)


def head_bytes(request: Request) -> Reply:
    """The head arrives byte by byte."""
    reply = steady(request)
    steps = [Step(0.0, STREAM_HEAD[i : i + 1]) for i in range(len(STREAM_HEAD))]
    return Reply([*steps, *reply.steps[1:]], finish_reason=reply.finish_reason)


def bom(request: Request) -> Reply:
    """A byte order mark in front of the stream, which the specification allows."""
    reply = steady(request)
    mark = Step(0.0, frames.http_chunk(b"\xef\xbb\xbf"))
    return Reply([reply.steps[0], mark, *reply.steps[1:]], finish_reason=reply.finish_reason)


def usage_null(request: Request) -> Reply:
    """``"usage": null`` and ``"error": null`` in every chunk, as OpenAI sends the former; the real usage at the end."""
    stream = Stream(request)
    schedule = request.schedule
    for i, tokens in enumerate(schedule.tokens):
        text = stream.text(i, tokens)
        choice = frames.delta_choice({"content": text}) if request.endpoint == "chat" else frames.text_choice(text)
        data = frames.event(frames.chunk(request.endpoint, request.model, [choice], usage=None, error=None))
        stream.send(schedule.offsets_s[i], data, tokens, "content")
    stream.finish(usage=None, error=None)
    stream.usage()
    stream.done()
    return stream.reply()


def content_length(request: Request) -> Reply:
    """An event stream with a length instead of chunks."""
    stream = Stream(request, encode=lambda data: data)
    _all(stream)
    length = sum(len(step.data) for step in stream.steps[1:])
    head = frames.head(200, "OK", {"Content-Type": "text/event-stream", "Content-Length": str(length)})
    return Reply([Step(0.0, head), *stream.steps[1:]], finish_reason=request.schedule.finish_reason)


def _all(stream: Stream) -> None:
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.send(stream.request.schedule.end_s(), frames.DONE)


def trailers(request: Request) -> Reply:
    """Trailer fields behind the last chunk."""
    stream = Stream(request, head=frames.head(200, "OK", {**STREAM_HEADERS, "Trailer": "X-Checksum"}))
    _all(stream)
    stream.steps.append(Step(request.schedule.end_s(), b"0\r\nX-Checksum: 1f\r\n\r\n"))
    return stream.reply()


def chunk_extensions(request: Request) -> Reply:
    """Chunk sizes carry extensions."""
    stream = Stream(request, encode=lambda data: b"%x;part=1\r\n%b\r\n" % (len(data), data))
    _all(stream)
    stream.end()
    return stream.reply()


def done_then_close(request: Request) -> Reply:
    """Everything up to ``[DONE]``, then the connection closes without the last chunk."""
    stream = Stream(request)
    _all(stream)
    return stream.reply(CLOSE)


def done_then_hang(request: Request) -> Reply:
    """Everything up to ``[DONE]``, and then neither the last chunk nor a close."""
    stream = Stream(request)
    _all(stream)
    return stream.reply(HANG)


def finish_abort(request: Request) -> Reply:
    """Half of the tokens, then the finish reason ``abort``: the engine gave up."""
    stream = Stream(request)
    at = max(1, request.schedule.fault_index)
    stream.tokens(stop=at)
    when = request.schedule.offsets_s[at - 1]
    stream.send(when, frames.finish_event(request.endpoint, request.model, "abort") + frames.DONE)
    stream.steps.append(Step(when, frames.LAST_CHUNK))
    return stream.reply(finish_reason="abort")


def short_body(request: Request) -> Reply:
    """The connection closes in the middle of a body whose length was announced."""
    reply = content_length(request)
    at = max(1, request.schedule.fault_index)
    return Reply(reply.steps[: at + 1], CLOSE)


SCENARIOS = [
    unlabelled,
    plain_text,
    early_hints,
    head_bytes,
    bom,
    usage_null,
    content_length,
    trailers,
    chunk_extensions,
    done_then_close,
    done_then_hang,
    finish_abort,
    short_body,
]
