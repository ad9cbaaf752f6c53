"""The server's plain endpoints, and the reading of a completion request."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import orjson

from benchmarks.reference_server import frames, scenarios, truth
from benchmarks.reference_server.reply import Request
from benchmarks.reference_server.schedule import ScheduleError, Settings, build

if TYPE_CHECKING:
    from benchmarks.reference_server.server import ReferenceServer

VERSION = "simulated-1"
_SCENARIO = re.compile(r"\bscenario=([\w:]+)")
ENDPOINTS = {"/v1/chat/completions": "chat", "/v1/completions": "completions"}
UNDERSTOOD = {
    "model",
    "messages",
    "prompt",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "simulate",
}


class BadRequest(ScheduleError):
    """The request cannot be read; the status is part of it."""

    def __init__(self, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


@dataclass(frozen=True)
class Asked:
    """A completion request, read."""

    scenario: str
    request: Request
    max_tokens: int | None
    extra: dict[str, object]


def answer(status: int, body: bytes, content_type: str = "application/json") -> bytes:
    """A whole response with a length."""
    pairs = {"Content-Type": content_type, "Content-Length": str(len(body))}
    return frames.head(status, HTTPStatus(status).phrase, pairs) + body


def refusal(error: ScheduleError) -> bytes:
    """The response to a request that cannot be read."""
    status, kind = (error.status, error.kind) if isinstance(error, BadRequest) else (400, "BadRequestError")
    return answer(status, frames.dumps({"error": {"message": str(error), "type": kind, "code": status}}))


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _prompt(body: dict[str, object]) -> tuple[str, int]:
    """The prompt's text and its tokens: a word is a token, a token id is one."""
    if "messages" in body:
        messages = body["messages"]
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise BadRequest("messages must be a list of objects")
        text = "\n".join(_text(message.get("content")) for message in messages)
        return text, len(text.split())
    prompt = body.get("prompt")
    if isinstance(prompt, list):
        if prompt and isinstance(prompt[0], str):
            return str(prompt[0]), len(str(prompt[0]).split())
        return repr(prompt[:64]), len(prompt)
    if not isinstance(prompt, str):
        raise BadRequest("neither messages nor prompt is given")
    return prompt, len(prompt.split())


def _settings(model: str, simulate: object, defaults: Settings) -> Settings:
    """Options, then the model name (``stall`` or ``steady:ttft_ms=50,tokens=8``), then the ``simulate`` field."""
    name, _, parameters = model.partition(":")
    settings = defaults
    if name == "replay":
        settings = defaults.changed({"scenario": model})
    elif scenarios.known(name):
        pairs = (item.partition("=") for item in parameters.split(",") if item)
        settings = defaults.changed({"scenario": name, **{key: value for key, _, value in pairs}})
    if simulate is None:
        return settings
    if not isinstance(simulate, dict):
        raise BadRequest("simulate must be an object")
    return settings.changed(simulate)


def read_completion(endpoint: str, data: bytes, accepts: str, server: ReferenceServer) -> Asked:
    """Read a completion request; raises :class:`ScheduleError` with what is wrong."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    prompt, prompt_tokens = _prompt(body)
    if prompt_tokens > server.options.max_model_len:
        raise BadRequest(
            f"This model's maximum context length is {server.options.max_model_len} tokens. However, your request has "
            f"{prompt_tokens} input tokens. Please reduce the length of the input messages."
        )
    max_tokens = body.get("max_completion_tokens") or body.get("max_tokens")
    if max_tokens is not None and (not isinstance(max_tokens, int) or max_tokens < 1):
        raise BadRequest("max_tokens must be at least 1")
    model = str(body.get("model", ""))
    settings = _settings(model, body.get("simulate"), server.options.settings)
    if server.options.scenario_in_prompt and (named := _SCENARIO.search(prompt[:200])):
        settings = settings.changed({"scenario": named[1]})
    options = body.get("stream_options")
    request = Request(
        endpoint=endpoint,
        model=model,
        schedule=build(settings, prompt, max_tokens),
        prompt_tokens=prompt_tokens,
        include_usage=bool(isinstance(options, dict) and options.get("include_usage")),
        stream=bool(body.get("stream")),
        accepts=accepts,
    )
    extra = {key: value for key, value in body.items() if key not in UNDERSTOOD}
    return Asked(settings.scenario, request, max_tokens, extra)


def _tokenize(data: bytes, server: ReferenceServer) -> bytes:
    try:
        text, count = _prompt(orjson.loads(data))
    except (ScheduleError, orjson.JSONDecodeError, AttributeError) as error:
        return refusal(BadRequest(str(error)))
    del text
    body = {"count": count, "max_model_len": server.options.max_model_len, "tokens": list(range(count))}
    return answer(200, orjson.dumps({**body, "token_strs": None, "simulated": True}))


def _metrics(server: ReferenceServer) -> bytes:
    label = '{model_name="simulated"}'
    values = {
        "vllm:num_requests_running": server.running,
        "vllm:num_requests_waiting": 0,
        "vllm:prompt_tokens_total": server.prompt_tokens,
        "vllm:generation_tokens_total": server.generation_tokens,
        "vllm:request_success_total": server.finished,
    }
    lines = ["# simulated: counters of the reference server, under vLLM's names"]
    lines += [f"{name}{label} {value}" for name, value in values.items()]
    return answer(200, ("\n".join(lines) + "\n").encode(), "text/plain; version=0.0.4")


def other(method: str, path: str, data: bytes, server: ReferenceServer) -> bytes:
    """Everything that is not a completion."""
    if path == "/truth" and method == "DELETE":
        server.truth.clear()
        return answer(200, b"{}")
    if path == "/truth":
        return answer(200, truth.to_json(server.truth))
    if path in ("/health", "/ping"):
        return answer(200, b"", "text/plain")
    if path == "/version":
        return answer(200, frames.dumps({"version": VERSION, "simulated": True}))
    if path == "/v1/models":
        names = ["simulated", *scenarios.BY_NAME]
        length = server.options.max_model_len
        models = [{"id": n, "object": "model", "owned_by": "simulated", "max_model_len": length} for n in names]
        return answer(200, json.dumps({"object": "list", "simulated": True, "data": models}).encode())
    if path == "/metrics":
        return _metrics(server)
    if path == "/tokenize" and method == "POST":
        return _tokenize(data, server)
    return refusal(BadRequest(f"{method} {path} does not exist here", 404, "NotFoundError"))
