"""``requests.parquet``: one row a request, from which the cell's summary can be computed again.

Times are ms since the first measured ``sent_at`` (one clock for all processes), except ``itl_ms``, which are gaps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from benchgate.client.columns import flags, integers, lists_of_singles, numbers, texts
from benchgate.errors import BenchgateError
from benchgate.request_record import ClientFacts, RequestRecord

FACTS_KEY = b"benchgate.client_facts"
CLOCKS = (
    "intended_at",
    "queued_at",
    "sent_at",
    "headers_at",
    "first_token_at",
    "first_visible_at",
    "last_token_at",
    "ended_at",
)
_INTEGERS = (
    "request_id",
    "user",
    "http_status",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "cached_tokens",
    "requested_prompt_tokens",
    "max_tokens",
    "events",
    "content_events",
    "reasoning_events",
    "tool_events",
    "content_chars",
    "reasoning_chars",
    "tool_chars",
    "largest_event_chars",
    "response_bytes",
    "process",
)
_TEXTS = ("phase", "status", "error_message", "finish_reason", "token_count_source")
_FLAGS = ("near_cap", "retried_stale_connection", "streamed")


def column_of(clock: str) -> str:
    """Column name of a clock field: ``sent_at`` is stored as ``sent_at_ms``."""
    return f"{clock}_ms"


def write_requests(path: Path, records: Sequence[RequestRecord], facts: ClientFacts) -> None:
    """Write ``records`` and, as file metadata, what the client knew about itself.

    Not aside: whoever keeps the file does that for all of a result's files alike.
    """
    import pyarrow as pa  # 0.1 s, after the measurement
    import pyarrow.parquet as pq

    zero = min((r.sent_at for r in records if r.phase == "measured" and r.sent_at is not None), default=0.0)
    columns: dict[str, Any] = {}
    for name in _INTEGERS:
        columns[name] = integers([getattr(record, name) for record in records])
    for name in _TEXTS:
        columns[name] = texts([getattr(record, name) for record in records])
    for name in _FLAGS:
        columns[name] = flags([getattr(record, name) for record in records])
    for name in CLOCKS:
        values = [getattr(record, name) for record in records]
        columns[column_of(name)] = numbers([None if value is None else (value - zero) * 1000.0 for value in values])
    columns["itl_ms"] = lists_of_singles([record.itl_s for record in records], 1000.0)
    metadata = {FACTS_KEY: json.dumps(asdict(facts)).encode()}
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns), metadata=metadata)
    pq.write_table(table, path, compression="zstd")


def read_requests(path: Path) -> tuple[list[RequestRecord], ClientFacts | None]:
    """Read a file that :func:`write_requests` wrote; the clock starts at 0.

    Raises:
        BenchgateError: no such file, or not one of ours.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise BenchgateError(f"{path} does not exist") from None
    except pa.ArrowInvalid as error:
        raise BenchgateError(f"{path} is no Parquet file: {error}") from None
    missing = [name for name in (*_INTEGERS, *_TEXTS, *_FLAGS, "itl_ms") if name not in table.column_names]
    if missing:
        raise BenchgateError(f"{path} is no requests.parquet of benchgate: column {missing[0]} is missing")
    records = []
    for row in table.to_pylist():
        values = {name: row[name] for name in (*_INTEGERS, *_TEXTS, *_FLAGS)}
        for name in CLOCKS:
            value = row[column_of(name)]
            values[name] = None if value is None else value / 1000.0
        records.append(RequestRecord(**values, itl_s=[gap / 1000.0 for gap in row["itl_ms"]]))
    return records, _facts(table.schema.metadata or {})


def _facts(metadata: dict[bytes, bytes]) -> ClientFacts | None:
    if FACTS_KEY not in metadata:
        return None
    known = {one.name for one in fields(ClientFacts)}
    stored = json.loads(metadata[FACTS_KEY])
    return ClientFacts(**{name: value for name, value in stored.items() if name in known})
