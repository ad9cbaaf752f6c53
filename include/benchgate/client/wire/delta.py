"""What the parts of an answer hold, in the forms in which servers write them: text, tool calls, counts. Pure."""

from __future__ import annotations

import json
from typing import Any

from orjson import JSONDecodeError, loads


def parse_json(payload: bytes) -> Any:
    """JSON of an event. Falls back to the slower reader for NaN, lone surrogates and broken UTF-8.

    Raises:
        ValueError: it is no JSON at all.
    """
    try:
        return loads(payload)
    except JSONDecodeError:
        try:
            return json.loads(payload.decode("utf-8", errors="replace"))
        except RecursionError:
            raise ValueError("nested too deeply") from None


def chars_of(value: Any) -> int:
    """Length of a text that may come as a string or as a list of parts."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(chars_of(part.get("text") or part.get("content")) if isinstance(part, dict) else 0 for part in value)
    return 0


def text_of(value: Any) -> str:
    """The text itself, in the same forms."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(part.get("text") or part.get("content")) for part in value if isinstance(part, dict))
    return ""


def tool_text(delta: dict[str, Any]) -> str:
    """Arguments of tool calls in a delta (or message), old and new form."""
    text = ""
    calls = delta.get("tool_calls")
    if calls:
        for call in calls:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                text += _arguments(function)
    old = delta.get("function_call")
    if isinstance(old, dict):
        text += _arguments(old)
    return text


def _arguments(function: dict[str, Any]) -> str:
    """The arguments of a call: text, piece by piece; some servers send the whole object at once."""
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        return json.dumps(arguments)
    return arguments or ""


def count_of(value: object, known: int | None) -> int | None:
    """A token count of usage; what is no count leaves what is known."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**53 else known
