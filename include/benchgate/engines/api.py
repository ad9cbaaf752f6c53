"""Facts that a server's HTTP API states about itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchgate.errors import BenchgateError
from benchgate.records import Evidence, Proof


def get_json(get: Callable[[str], tuple[int, bytes]], path: str) -> Any:
    """The JSON at ``path``; None when there is none (another version, not up, not JSON)."""
    try:
        status, body = get(path)
        return json.loads(body) if status == 200 else None
    except (BenchgateError, ValueError):
        return None


def at(value: Any, *keys: str | int) -> Any:
    """What stands at a path of keys and indexes; None when it does not exist."""
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def api_proof(name: str, value: object, path: str) -> list[Proof]:
    """The proof, or nothing when the API did not say."""
    if not isinstance(value, str | int | float):
        return []
    return [Proof(name=name, value=value, evidence=Evidence(line=None, text=f"GET {path}: {value}", source="api"))]
