"""Scenarios that are right on every level, but put on the wire in ways that break careless parsers."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import CLOSE, STREAM_HEADERS, Reply, Request, Step, Stream
from benchmarks.reference_server.scenarios.tokens import steady

GAP_S = 0.002  # between the parts of a split event: longer than a read takes, shorter than a token


def _whole(stream: Stream) -> Reply:
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def _rewritten(request: Request, rewrite: Callable[[bytes], bytes]) -> Reply:
    return _whole(Stream(request, encode=lambda data: frames.http_chunk(rewrite(data))))


def crlf(request: Request) -> Reply:
    """Lines end in CRLF."""
    return _rewritten(request, lambda data: data.replace(b"\n", b"\r\n"))


def cr(request: Request) -> Reply:
    """Lines end in a bare CR, which the specification allows."""
    return _rewritten(request, lambda data: data.replace(b"\n", b"\r"))


def crlf_split(request: Request) -> Reply:
    """CRLF lines, with CR and LF in different packets."""
    reply = crlf(request)
    steps: list[Step] = [reply.steps[0]]
    for step in reply.steps[1:]:
        pieces = step.data.split(b"\r\n\r\n\r\n", 1)
        if len(pieces) == 2 and step.tokens:
            # within the last line end of the event: a CR ends a line, so the event is complete before the LF comes
            steps.append(Step(step.offset_s, pieces[0] + b"\r\n\r", step.tokens, step.channel))
            steps.append(Step(step.offset_s + GAP_S, b"\n\r\n" + pieces[1]))
        else:
            steps.append(Step(max(step.offset_s, steps[-1].offset_s), step.data, step.tokens, step.channel))
    return Reply(steps, finish_reason=reply.finish_reason)


def multiline(request: Request) -> Reply:
    """The JSON of an event over several ``data:`` lines."""

    def rewrite(data: bytes) -> bytes:
        return data.replace(b',"choices":', b',\ndata: "choices":\ndata: ', 1)

    return _rewritten(request, rewrite)


def sse_fields(request: Request) -> Reply:
    """``id:``, ``event:`` and ``retry:`` lines, unknown fields, and ``data:`` without a space."""

    def rewrite(data: bytes) -> bytes:
        return b"id: 7\nevent: message\nretry: 3000\nx-extra\ndata:" + data.removeprefix(b"data: ")

    return _rewritten(request, rewrite)


def comments(request: Request) -> Reply:
    """Keep-alive comments before the first token and between tokens."""
    stream = Stream(request)
    offsets = request.schedule.offsets_s
    for part in (1, 2, 3):
        stream.send(request.schedule.ttft_s * part / 4, b": keep-alive\n\n")
    for i, offset in enumerate(offsets):
        stream.tokens(start=i, stop=i + 1)
        later = offsets[i + 1] if i + 1 < len(offsets) else offset
        stream.send((offset + later) / 2, b":\n\n" if i % 2 else b": OPENROUTER PROCESSING\n\n")
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def big_event(request: Request) -> Reply:
    """The first event carries one megabyte of text; the others are ordinary."""
    own = list(request.schedule.text or [" x"])
    text = ("long " * 210_000, *(own * len(request.schedule.tokens))[: max(1, len(request.schedule.tokens) - 1)])
    return _whole(Stream(dataclasses.replace(request, schedule=dataclasses.replace(request.schedule, text=text))))


def _split_steps(reply: Reply, pieces: Callable[[bytes], list[bytes]], gap_s: float) -> Reply:
    """Each write after the head in pieces. A token is complete with its event's blank line; its chunk ends later."""
    steps = [reply.steps[0]]
    for step in reply.steps[1:]:
        at = max(step.offset_s, steps[-1].offset_s)
        complete = step.data.rfind(b"\n\n") + 2
        begin = 0
        for i, part in enumerate(pieces(step.data)):
            whole = begin < complete <= begin + len(part)
            begin += len(part)
            steps.append(Step(at + i * gap_s, part, step.tokens if whole else 0, step.channel if whole else None))
    return Reply(steps, reply.ending, finish_reason=reply.finish_reason)


def utf8_split(request: Request) -> Reply:
    """Text of 2-, 3- and 4-byte characters, each token's event cut inside a character."""
    schedule = dataclasses.replace(request.schedule, text=(" é", " 漢字", " 🙂", " नमस्ते"))
    reply = steady(dataclasses.replace(request, schedule=schedule))

    def pieces(data: bytes) -> list[bytes]:
        first = next((i for i, byte in enumerate(data) if byte >= 0xC0), None)
        return [data] if first is None else [data[: first + 1], data[first + 1 :]]

    return _split_steps(reply, pieces, GAP_S)


def byte_chunks(request: Request) -> Reply:
    """Every HTTP chunk is one byte."""

    def encode(data: bytes) -> bytes:
        return b"".join(b"1\r\n%c\r\n" % byte for byte in data)

    return _whole(Stream(request, encode=encode))


def byte_writes(request: Request) -> Reply:
    """Every packet is one byte."""
    return _split_steps(steady(request), lambda data: [data[i : i + 1] for i in range(len(data))], 0.0)


def joined_events(request: Request) -> Reply:
    """Two events in each chunk; they arrive together."""
    stream = Stream(request)
    schedule = request.schedule
    for i in range(0, len(schedule.tokens), 2):
        pair = range(i, min(i + 2, len(schedule.tokens)))
        texts = [stream.text(j, schedule.tokens[j]) for j in pair]
        data = b"".join(frames.token_event(request.endpoint, request.model, "content", text) for text in texts)
        when = schedule.offsets_s[pair[-1]]
        for j in pair[:-1]:  # an event without a write of its own: it goes out with the next one
            stream.steps.append(Step(when, b"", schedule.tokens[j], "content"))
        stream.send(when, data, schedule.tokens[pair[-1]], "content")
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def http10(request: Request) -> Reply:
    """HTTP/1.0: no chunks, no length; the body ends with the connection."""
    head = frames.head(200, "OK", {"Content-Type": "text/event-stream", "Connection": "close"}, version="1.0")
    stream = Stream(request, head=head, encode=lambda data: data)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.send(request.schedule.end_s(), frames.DONE)
    return stream.reply(CLOSE)


def gzip(request: Request) -> Reply:
    """Compressed, flushed at every event, if the client accepts gzip; plain if it does not."""
    return gzip_always(request) if "gzip" in request.accepts else steady(request)


def gzip_always(request: Request) -> Reply:
    """Compressed even if the client asked for an identity encoding."""
    packer = zlib.compressobj(wbits=31)

    def encode(data: bytes) -> bytes:
        return frames.http_chunk(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))

    stream = Stream(request, head=frames.head(200, "OK", {**STREAM_HEADERS, "Content-Encoding": "gzip"}), encode=encode)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.send(request.schedule.end_s(), frames.DONE)
    stream.steps.append(Step(request.schedule.end_s(), frames.http_chunk(packer.flush(zlib.Z_FINISH))))
    stream.end()
    return stream.reply()


SCENARIOS = [
    crlf,
    cr,
    crlf_split,
    multiline,
    sse_fields,
    comments,
    big_event,
    utf8_split,
    byte_chunks,
    byte_writes,
    joined_events,
    http10,
    gzip,
    gzip_always,
]
