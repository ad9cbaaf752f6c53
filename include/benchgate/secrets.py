"""The one place that masks secrets in text that leaves the process: logs, artifacts, tables, messages."""

from __future__ import annotations

import re

MASK = "***"
# Shapes that are secrets whoever put them there: Hub tokens, API keys, bearer headers, passwords in URLs.
_SHAPES = re.compile(
    r"hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{16,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_known: set[str] = set()


def register(value: str | None) -> None:
    """Remember a secret value, so that :func:`mask` hides it wherever it turns up. Shorter than 4 is ignored."""
    if value and len(value) >= 4:
        _known.add(value)


def mask(text: str) -> str:
    """``text`` with every registered secret, and everything that looks like one, replaced by ``***``."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, MASK)
    return _SHAPES.sub(MASK, text)
