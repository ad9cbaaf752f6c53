"""Scenarios in which every token arrives, in the many shapes that servers give them. All of these are successes."""

from __future__ import annotations

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import CLOSE, Reply, Request, Step, Stream


def _early(request: Request) -> float:
    """A moment well before the first token."""
    return request.schedule.ttft_s / 4


def steady(request: Request) -> Reply:
    """Token by token from the first event on; finish chunk, usage if asked for, ``[DONE]``."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def role_first(request: Request) -> Reply:
    """A role-only chunk long before the first token, which is no token."""
    stream = Stream(request)
    delta = frames.delta_choice({"role": "assistant", "content": None})
    stream.send(_early(request), frames.event(frames.chunk("chat", request.model, [delta])))
    return _rest(stream)


def empty_first(request: Request) -> Reply:
    """A chunk with role and empty content long before the first token (vLLM's first chunk)."""
    stream = Stream(request)
    delta = frames.delta_choice({"role": "assistant", "content": ""})
    stream.send(_early(request), frames.event(frames.chunk("chat", request.model, [delta])))
    return _rest(stream)


def _rest(stream: Stream) -> Reply:
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def empty_between(request: Request) -> Reply:
    """An empty delta after every token: no event, no gap of its own."""
    stream = Stream(request)
    schedule = request.schedule
    empty = frames.event(frames.chunk("chat", request.model, [frames.delta_choice({"content": ""})]))
    for i, offset in enumerate(schedule.offsets_s):
        stream.tokens(start=i, stop=i + 1)
        later = schedule.offsets_s[i + 1] if i + 1 < len(schedule.offsets_s) else offset
        stream.send((offset + later) / 2, empty)
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def _reasoned(request: Request, field: str) -> Reply:
    stream = Stream(request)
    half = max(1, len(request.schedule.tokens) // 2)
    stream.tokens(field, stop=half)
    stream.tokens("content", start=half)
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def reasoning(request: Request) -> Reply:
    """The first half in ``delta.reasoning``, the rest in ``delta.content``."""
    return _reasoned(request, "reasoning")


def reasoning_content(request: Request) -> Reply:
    """The first half in ``delta.reasoning_content``, the rest in ``delta.content``."""
    return _reasoned(request, "reasoning_content")


def reasoning_only(request: Request) -> Reply:
    """Reasoning up to the cap and never a visible word."""
    stream = Stream(request)
    stream.tokens("reasoning")
    stream.finish("length")
    stream.usage()
    stream.done()
    return stream.reply(finish_reason="length")


def tool_calls(request: Request) -> Reply:
    """A tool call, its arguments in pieces; the name alone comes early and is no token of the arguments."""
    stream = Stream(request)
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": ""}}
    delta = frames.delta_choice({"role": "assistant", "content": None, "tool_calls": [call]})
    stream.send(_early(request), frames.event(frames.chunk("chat", request.model, [delta])))
    stream.tokens("tool")
    stream.finish("tool_calls")
    stream.usage()
    stream.done()
    return stream.reply(finish_reason="tool_calls")


def finish_with_last_token(request: Request) -> Reply:
    """The finish reason rides on the last token's chunk (vLLM)."""
    stream = Stream(request)
    schedule = request.schedule
    last = len(schedule.tokens) - 1
    stream.tokens(stop=last)
    text = stream.text(last, schedule.tokens[last])
    chat = request.endpoint == "chat"
    reason = schedule.finish_reason
    choice = frames.delta_choice({"content": text}, reason) if chat else frames.text_choice(text, reason)
    data = frames.event(frames.chunk(request.endpoint, request.model, [choice]))
    stream.send(schedule.end_s(), data, schedule.tokens[last], "content")
    stream.usage()
    stream.done()
    return stream.reply()


def burst(request: Request) -> Reply:
    """The whole answer in one event at the end: every latency but the total is meaningless."""
    stream = Stream(request)
    schedule = request.schedule
    text = "".join(stream.text(i, n) for i, n in enumerate(schedule.tokens))
    data = frames.token_event(request.endpoint, request.model, "content", text)
    stream.send(schedule.end_s(), data, schedule.total_tokens, "content")
    stream.finish()
    stream.usage()
    stream.done()
    return stream.reply()


def burst_writes(request: Request) -> Reply:
    """Token by token, but everything is written at once at the end (a buffering proxy)."""
    reply = steady(request)
    end = request.schedule.end_s()
    late = [Step(end, step.data, step.tokens, step.channel) for step in reply.steps[1:]]
    return Reply([reply.steps[0], *late], reply.ending, finish_reason=reply.finish_reason)


def no_usage(request: Request) -> Reply:
    """No usage although it was asked for: the client must count tokens itself, and say so."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.done()
    return stream.reply()


def usage_every_chunk(request: Request) -> Reply:
    """A running usage in every chunk (vLLM's continuous_usage_stats): the last one counts."""
    stream = Stream(request)
    schedule, said = request.schedule, 0
    for i, tokens in enumerate(schedule.tokens):
        said += tokens
        text = stream.text(i, tokens)
        choice = frames.delta_choice({"content": text}) if request.endpoint == "chat" else frames.text_choice(text)
        counts = frames.usage(request.prompt_tokens, said)
        data = frames.event(frames.chunk(request.endpoint, request.model, [choice], usage=counts))
        stream.send(schedule.offsets_s[i], data, tokens, "content")
    stream.finish(usage=frames.usage(request.prompt_tokens, said))
    stream.usage()
    stream.done()
    return stream.reply()


def usage_in_finish(request: Request) -> Reply:
    """Usage inside the finish chunk and no ``[DONE]`` (transformers serve): complete all the same."""
    stream = Stream(request)
    stream.tokens()
    stream.finish(usage=frames.usage(request.prompt_tokens, request.schedule.total_tokens))
    stream.end()
    return stream.reply()


def late_usage(request: Request) -> Reply:
    """Usage and ``[DONE]`` come 300 ms after the last token, which is where the request's time ends."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.usage(more_s=0.3)
    stream.done(more_s=0.3)
    return stream.reply()


def no_done(request: Request) -> Reply:
    """Finish reason and usage, orderly end, but no ``[DONE]``."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.end()
    return stream.reply()


def late_end(request: Request) -> Reply:
    """The body ends 300 ms after ``[DONE]``."""
    stream = Stream(request)
    stream.tokens()
    stream.finish()
    stream.usage()
    stream.send(request.schedule.end_s(), frames.DONE)
    stream.end(more_s=0.3)
    return stream.reply()


def close_after_reply(request: Request) -> Reply:
    """Closes after the reply while it advertises keep-alive (llama.cpp does)."""
    reply = steady(request)
    head = frames.head(
        200,
        "OK",
        {
            "Content-Type": "text/event-stream",
            "Transfer-Encoding": "chunked",
            "Connection": "keep-alive",
            "Keep-Alive": "timeout=5, max=100",
        },
    )
    return Reply([Step(0.0, head), *reply.steps[1:]], CLOSE, finish_reason=reply.finish_reason)


SCENARIOS = [
    steady,
    role_first,
    empty_first,
    empty_between,
    reasoning,
    reasoning_content,
    reasoning_only,
    tool_calls,
    finish_with_last_token,
    burst,
    burst_writes,
    no_usage,
    usage_every_chunk,
    usage_in_finish,
    late_usage,
    no_done,
    late_end,
    close_after_reply,
]
