"""What a server's error message means: harmony parser, context overflow, or just an error."""

from __future__ import annotations

import re

# Messages of the harmony parser (openai-harmony, oss-harmony) as engines pass them on, in streams and in HTTP 500s.
_HARMONY = re.compile(
    r"unexpected token \d+ while expecting start token"
    r"|unknown role: ?\S+"
    r"|unexpected tokens remaining in message header"
    r"|could not parse header: too many tokens remaining"
    r"|(?:error|failed).{0,40}harmony|harmony.{0,40}(?:error|failed|non-terminal)|HarmonyError"
    r"|unexpected EOS while waiting for message header",
    re.IGNORECASE,
)

# vLLM: "This model's maximum context length is 4096 tokens. However, .." ; "decoder prompt (length ..) is longer
# than the maximum model length". llama.cpp: exceed_context_size_error. SGLang: "Input length (..) exceeds the maximum
# allowed length (..)", "The input (.. tokens) is longer than the model's context length (.. tokens)",
# "Requested token count exceeds the model's maximum context length".
_CONTEXT = re.compile(
    r"maximum context length"
    r"|exceed_context_size_error|exceeds the available context size"
    r"|longer than the (?:maximum model length|model's context length)"
    r"|exceeds? the (?:maximum allowed length|model's (?:maximum )?context|context (?:length|window|size))"
    r"|context_length_exceeded"
    r"|max_model_len.{0,80}(?:exceed|longer)"
    r"|input(?: length| tokens?)?.{0,60}(?:exceeds?|longer than).{0,40}(?:context|max)",
    re.IGNORECASE | re.DOTALL,
)

MESSAGE_LIMIT = 400  # characters kept of an error message


def classify(message: str, default: str) -> str:
    """The error kind of ``message``, or ``default`` when it says nothing special."""
    if _HARMONY.search(message):
        return "harmony_parse"
    if _CONTEXT.search(message):
        return "context_overflow"
    return default


def cut(message: str) -> str:
    """``message`` on one line and cut to a readable length."""
    line = " ".join(message.split())
    return line if len(line) <= MESSAGE_LIMIT else line[: MESSAGE_LIMIT - 2] + ".."


def error_in(answer: object) -> str | None:
    """The error message that a JSON answer carries, or None when it carries none.

    Knows ``{"error": {"message": ..}}``, ``{"error": ".."}``, ``{"object": "error", "message": ..}`` (vLLM before 0.9,
    SGLang) and ``{"detail": ..}`` or ``{"message": ..}`` beside a ``code`` or ``status`` of 400 and more.
    """
    if not isinstance(answer, dict):
        return None
    error = answer.get("error")
    if error:
        if isinstance(error, dict):
            kind = error.get("type")
            text = str(error.get("message") or error)
            return f"{text} [{kind}]" if kind and str(kind) not in text else text
        return str(error)
    several = answer.get("errors")
    if several and not answer.get("choices"):
        first = several[0] if isinstance(several, list) else several
        return str((first.get("message") if isinstance(first, dict) else None) or first)
    if answer.get("object") == "error" or answer.get("type") == "error":
        return str(answer.get("message") or answer)
    if not answer.get("choices"):
        code = answer.get("code", answer.get("status", answer.get("status_code")))
        said = answer.get("message") or answer.get("detail") or answer.get("msg")
        if isinstance(code, str) and code.isdigit():
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and code >= 400:
            return f"{said or answer} [code {code}]"
        if said and "choices" not in answer and "usage" not in answer:
            return str(said)
    return None
