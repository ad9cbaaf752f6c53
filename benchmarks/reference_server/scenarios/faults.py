"""Scenarios in which the answer fails after HTTP said 200, or never comes. None of these is a success."""

from __future__ import annotations

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import CLOSE, HANG, RESET, Reply, Request, Step, Stream

HARMONY = "Unexpected token 12606 while expecting start token 200006"
ENGINE = "EngineCore encountered an issue. See stack trace (above) for the root cause."


def _error(message: str, code: int = 500, kind: str = "InternalServerError") -> bytes:
    return frames.event({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _fails(request: Request, at: int, error: bytes, *, done: bool = True) -> Reply:
    """Tokens up to event ``at``, then the error where the next token was due."""
    stream = Stream(request)
    offsets = request.schedule.offsets_s
    stream.tokens(stop=at)
    when = offsets[min(at, len(offsets) - 1)]
    stream.send(when, error + (frames.DONE if done else b""))
    stream.steps.append(Step(when, frames.LAST_CHUNK))
    return stream.reply()


def error_first(request: Request) -> Reply:
    """An error frame instead of the first token, then ``[DONE]``."""
    return _fails(request, 0, _error(ENGINE))


def error_mid(request: Request) -> Reply:
    """An error frame in the middle of the answer, then ``[DONE]``."""
    return _fails(request, request.schedule.fault_index, _error(ENGINE))


def error_mid_no_done(request: Request) -> Reply:
    """An error frame in the middle; the stream ends without ``[DONE]``."""
    return _fails(request, request.schedule.fault_index, _error(ENGINE), done=False)


def error_before_done(request: Request) -> Reply:
    """Every token, and an error frame in place of finish and usage, just before ``[DONE]``."""
    return _fails(request, len(request.schedule.tokens), _error(ENGINE))


def error_after_finish(request: Request) -> Reply:
    """Every token, finish and usage, and still an error frame before ``[DONE]``."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.send(request.schedule.end_s(), _error(ENGINE) + frames.DONE)
    stream.end()
    return stream.reply()


def error_object(request: Request) -> Reply:
    """The older form of an error frame: ``{"object": "error", ..}`` at the top level."""
    payload = {"object": "error", "message": ENGINE, "type": "InternalServerError", "param": None, "code": 500}
    return _fails(request, request.schedule.fault_index, frames.event(payload))


def error_named_event(request: Request) -> Reply:
    """``event: error`` with a bare JSON message."""
    data = b"event: error\ndata: " + frames.dumps({"message": ENGINE}) + b"\n\n"
    return _fails(request, request.schedule.fault_index, data)


def harmony_first(request: Request) -> Reply:
    """vLLM's harmony parser gives up before the first text: HTTP 200, error frame, ``[DONE]``."""
    return _fails(request, 0, _error(HARMONY))


def harmony_mid(request: Request) -> Reply:
    """vLLM's harmony parser gives up in the middle."""
    return _fails(request, request.schedule.fault_index, _error(HARMONY))


def harmony_ignore_eos(request: Request) -> Reply:
    """What ``ignore_eos`` does to a harmony model: the token after the end is not a start."""
    message = "Unexpected token 200002 while expecting start token 200006"
    return _fails(request, len(request.schedule.tokens), _error(message))


def cut(request: Request) -> Reply:
    """The connection closes in the middle, without the end of the chunked body."""
    stream = Stream(request)
    stream.tokens(stop=max(1, request.schedule.fault_index))
    return stream.reply(CLOSE)


def cut_clean(request: Request) -> Reply:
    """The body ends properly in the middle: no finish reason, no ``[DONE]``."""
    stream = Stream(request)
    at = max(1, request.schedule.fault_index)
    stream.tokens(stop=at)
    stream.steps.append(Step(request.schedule.offsets_s[at - 1], frames.LAST_CHUNK))
    return stream.reply()


def no_finish(request: Request) -> Reply:
    """Every token, usage and ``[DONE]``, but never a finish reason."""
    stream = Stream(request)
    stream.tokens()
    stream.usage()
    stream.done()
    return stream.reply()


def reset(request: Request) -> Reply:
    """The connection is reset where the first token was due; no byte was answered."""
    return Reply([Step(request.schedule.ttft_s, b"")], RESET)


def reset_mid(request: Request) -> Reply:
    """The connection is reset in the middle of the answer."""
    stream = Stream(request)
    stream.tokens(stop=max(1, request.schedule.fault_index))
    return stream.reply(RESET)


def close_unanswered(request: Request) -> Reply:
    """The server reads the request, then closes without a byte."""
    return Reply([Step(request.schedule.ttft_s, b"")], CLOSE)


def stall(request: Request) -> Reply:
    """Tokens up to the middle, then silence on an open connection."""
    stream = Stream(request)
    stream.tokens(stop=max(1, request.schedule.fault_index))
    return stream.reply(HANG)


def stall_first(request: Request) -> Reply:
    """The head, then silence."""
    return Stream(request).reply(HANG)


def stall_silent(request: Request) -> Reply:
    """Not one byte, not even the head."""
    del request
    return Reply([], HANG)


def empty_completion(request: Request) -> Reply:
    """Finish, usage with tokens, and no text in any channel (vLLM 41477)."""
    stream = Stream(request)
    delta = frames.delta_choice({"role": "assistant", "content": None, "reasoning": None})
    stream.send(request.schedule.ttft_s, frames.event(frames.chunk("chat", request.model, [delta])))
    stream.finish("stop")
    stream.usage()
    stream.done()
    return stream.reply()


def only_done(request: Request) -> Reply:
    """HTTP 200 and nothing but ``[DONE]``."""
    stream = Stream(request)
    stream.send(request.schedule.ttft_s, frames.DONE)
    stream.steps.append(Step(request.schedule.ttft_s, frames.LAST_CHUNK))
    return stream.reply()


def bad_json(request: Request) -> Reply:
    """An event in the middle that is not JSON."""
    stream = Stream(request)
    at = max(1, request.schedule.fault_index)
    stream.tokens(stop=at)
    stream.send(request.schedule.offsets_s[at - 1], b'data: {"choices": [{"delta": {"cont\n\n')
    stream.tokens(start=at)
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def bad_chunk(request: Request) -> Reply:
    """A chunk size that is no number: the body cannot be read on."""
    stream = Stream(request)
    at = max(1, request.schedule.fault_index)
    stream.tokens(stop=at)
    stream.steps.append(Step(request.schedule.offsets_s[at - 1], b"zz\r\nnot a chunk\r\n"))
    return stream.reply(CLOSE)


SCENARIOS = [
    error_first,
    error_mid,
    error_mid_no_done,
    error_before_done,
    error_after_finish,
    error_object,
    error_named_event,
    harmony_first,
    harmony_mid,
    harmony_ignore_eos,
    cut,
    cut_clean,
    no_finish,
    reset,
    reset_mid,
    close_unanswered,
    stall,
    stall_first,
    stall_silent,
    empty_completion,
    only_done,
    bad_json,
    bad_chunk,
]
