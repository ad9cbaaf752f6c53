"""Scenarios whose answer is no event stream: HTTP errors, an error with status 200, a whole JSON answer, a page."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import Reply, Request, Scenario, Step


def plain(request: Request, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> Reply:
    """One answer with a length, where the first token was due."""
    pairs = {"Content-Type": content_type, "Content-Length": str(len(body))}
    pairs |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = frames.head(status, HTTPStatus(status).phrase, pairs)
    return Reply([Step(request.schedule.ttft_s, head + body)], completion_tokens=0)


def _error_body(message: str, code: int, kind: str) -> bytes:
    return frames.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}})


def _http_error(name: str, status: int, message: str, kind: str, **headers: str) -> Scenario:
    def scenario(request: Request) -> Reply:
        return plain(request, status, _error_body(message, status, kind), **headers)

    scenario.__name__ = name
    scenario.__doc__ = f"HTTP {status}: {message[:60]}"
    return scenario


def whole_answer(request: Request) -> bytes:
    """The JSON of an answer that does not stream."""
    schedule = request.schedule
    own = schedule.text
    count = schedule.total_tokens
    text = "".join(own[i % len(own)] for i in range(count)) if own else frames.words(count)
    chat = request.endpoint == "chat"
    choice: dict[str, object] = {"index": 0, "finish_reason": schedule.finish_reason, "logprobs": None}
    choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    answer = frames.chunk(request.endpoint, request.model, [choice], usage=frames.usage(request.prompt_tokens, count))
    return frames.dumps(answer | {"object": "chat.completion" if chat else "text_completion"})


def no_stream(request: Request) -> Reply:
    """A whole JSON answer although a stream was asked for: throughput is real, latencies are not."""
    body = whole_answer(request)
    head = frames.head(200, "OK", {"Content-Type": "application/json", "Content-Length": str(len(body))})
    step = Step(request.schedule.end_s(), head + body, request.schedule.total_tokens, "content")
    return Reply([step], finish_reason=request.schedule.finish_reason)


def error_in_200(request: Request) -> Reply:
    """HTTP 200 whose JSON body is an error with ``"code": 400`` (tenstorrent/vllm 386)."""
    body = frames.dumps(
        {"object": "error", "message": "Unknown role: assistantassistant", "type": "BadRequestError", "code": 400}
    )
    return plain(request, 200, body)


def html_page(request: Request) -> Reply:
    """HTTP 200 and a web page: a proxy's login, not a model."""
    return plain(request, 200, b"<!doctype html><title>Sign in</title><p>Sign in to continue.", "text/html")


def html_502(request: Request) -> Reply:
    """HTTP 502 with a proxy's page."""
    return plain(request, 502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", "text/html")


def empty_200(request: Request) -> Reply:
    """HTTP 200 with a body of no bytes."""
    return plain(request, 200, b"", "text/event-stream")


def redirect(request: Request) -> Reply:
    """HTTP 307 to another address."""
    return plain(request, 307, b"", "text/plain", Location="/elsewhere")


_CONTEXT = (
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages. "
    "Please reduce the length of the messages."
)
_LLAMACPP = "the request exceeds the available context size, try increasing it"

SCENARIOS: list[Callable[[Request], Reply]] = [
    _http_error("http_400", 400, "'temperature' must be a number", "BadRequestError"),
    _http_error("http_400_context", 400, _CONTEXT, "BadRequestError"),
    _http_error("http_400_llamacpp_context", 400, _LLAMACPP, "exceed_context_size_error"),
    _http_error("http_401", 401, "Unauthorized", "AuthenticationError", WWW_Authenticate="Bearer"),
    _http_error("http_404", 404, "The model `x` does not exist.", "NotFoundError"),
    _http_error("http_429", 429, "Too many requests", "RateLimitError", Retry_After="1"),
    _http_error("http_500", 500, "Internal server error", "InternalServerError"),
    _http_error(
        "http_500_harmony",
        500,
        "Unexpected token 12606 while expecting start token 200006",
        "InternalServerError",
    ),
    _http_error("http_503", 503, "Service unavailable", "ServiceUnavailableError", Retry_After="1"),
    no_stream,
    error_in_200,
    html_page,
    html_502,
    empty_200,
    redirect,
]
