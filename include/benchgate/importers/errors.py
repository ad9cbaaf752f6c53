"""What another client's words about a failed request mean in ours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from http import HTTPStatus

from benchgate.client.wire.faults import classify, cut
from benchgate.records import ErrorGroup
from benchgate.request_record import RequestRecord
from benchgate.secrets import mask

UNKNOWN = "unknown"  # the file says that a request failed, and not how
_REASONS = {status.phrase.lower(): status.value for status in HTTPStatus if status.value >= 400}
_STATUS = re.compile(r"(?:error|status(?: code)?|http(?: error)?)\W{0,3}([45]\d\d)\b|^([45]\d\d)\b", re.IGNORECASE)
# Exception names of aiohttp, httpx and the standard library, and what they stand for.
_NAMES = [
    ("timeout", re.compile(r"timeout", re.IGNORECASE)),
    (
        "connect",
        re.compile(r"ClientConnector|ConnectionRefused|Cannot connect|ConnectError|connection attempts failed"),
    ),
    ("truncated_stream", re.compile(r"ClientPayload|IncompleteRead|ServerDisconnected|RemoteProtocol|ConnectionReset")),
    ("bad_response", re.compile(r"JSONDecode|InvalidChunk|Expecting value|unexpected mimetype")),
    (
        "empty_completion",
        re.compile(r"Never received a valid chunk|no (?:valid )?(?:tokens|content|response)", re.IGNORECASE),
    ),
]


def kind_of(message: str, code: int | None = None) -> str:
    """The error kind for another client's message (an HTTP reason, an exception, a whole traceback)."""
    if code is None:
        code = _REASONS.get(message.strip().lower())
    if code is None:
        found = _STATUS.search(message)
        code = int(found[1] or found[2]) if found else None
    default = UNKNOWN
    if code is not None and code >= 400:
        default = "http_4xx" if code < 500 else "http_5xx"
    kind = classify(message, default)
    if kind != UNKNOWN:
        return kind
    return next((name for name, pattern in _NAMES if pattern.search(message)), UNKNOWN)


def short(message: str) -> str:
    """The last line of a traceback, or the message; cut, secrets masked."""
    lines = [line for line in message.strip().splitlines() if line.strip()]
    return cut(mask(lines[-1] if lines and lines[0].startswith("Traceback") else message))


def groups(records: Iterable[RequestRecord]) -> list[ErrorGroup]:
    """Errors by kind, each with its first message."""
    failed = [record for record in records if record.is_error]
    counts = Counter(record.status for record in failed)
    samples = {record.status: record.error_message or "" for record in reversed(failed)}
    near = Counter(record.status for record in failed if record.near_cap)
    return [ErrorGroup(kind=kind, count=n, near_cap=near[kind], sample=samples[kind]) for kind, n in counts.items()]


def unknown_groups(count: int) -> tuple[dict[str, int], list[ErrorGroup]]:
    """Errors of which a file gives only the number."""
    return ({UNKNOWN: count} if count else {}), []
