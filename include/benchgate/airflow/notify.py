"""One message a night through any Airflow notifier: Slack, mail, chat, whatever the user configures."""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

from benchgate.errors import BenchgateError
from benchgate.secrets import mask

NOTIFIER = "BENCHGATE_NOTIFIER"  # import path of a notifier class
ARGUMENTS = "BENCHGATE_NOTIFIER_ARGS"  # its keyword arguments as JSON; {message} is replaced by the text


def send(message: str, context: Any = None) -> str:
    """Send ``message`` through the configured notifier; says what was done.

    Raises:
        BenchgateError: the configuration names no notifier, or its arguments do not fit.
    """
    path = os.environ.get(NOTIFIER)
    if not path:
        return f"no notifier is configured ({NOTIFIER} is not set)"
    notifier = build_notifier(path, os.environ.get(ARGUMENTS) or '{"text": "{message}"}', mask(message))
    notifier.notify(context or {})
    return f"sent through {path}"


def build_notifier(path: str, arguments: str, message: str) -> Any:
    """An instance of the notifier class at ``path`` with ``{message}`` filled into its string arguments."""
    module, _, name = path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BenchgateError(
            f"{NOTIFIER}={path} cannot be imported: {error}", remedy="give module.ClassName of an Airflow notifier"
        ) from None
    try:
        values = json.loads(arguments)
    except ValueError as error:
        raise BenchgateError(f"{ARGUMENTS} is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise BenchgateError(f"{ARGUMENTS} must be a JSON object")
    filled = {
        key: value.replace("{message}", message) if isinstance(value, str) else value for key, value in values.items()
    }
    try:
        return kind(**filled)
    except TypeError as error:
        raise BenchgateError(
            f"{path} does not take {', '.join(filled)}: {error}", remedy=f"correct {ARGUMENTS}"
        ) from None
