"""Request rows: from a cell's Parquet file into the database by the fastest way each database has.

Arithmetic and text run over whole columns in Arrow; a million rows never become Python objects on PostgreSQL.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from upath import UPath

from benchgate.artifacts import read_bytes
from benchgate.client.requests_file import column_of
from benchgate.errors import WarehouseError
from benchgate.warehouse.tables import request
from benchgate.warehouse.values import clean_text

if TYPE_CHECKING:
    import pyarrow as pa

_Item = TypeVar("_Item")

COLUMNS = tuple(request.columns.keys())
_REQUIRED = ("request_id", "status")
_COPIED = [
    "phase",
    "status",
    "http_status",
    "finish_reason",
    "near_cap",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "token_count_source",
    "max_tokens",
    "events",
    "error_message",
]
_STAMPS = ("sent_at", "first_token_at", "last_token_at", "ended_at")
_READ = {
    *_REQUIRED,
    *_COPIED,
    "user",
    *(column_of(clock) for clock in (*_STAMPS, "intended_at", "queued_at", "first_visible_at")),
}
_BATCH = 50_000  # rows sent to the database at a time


def request_table(source: UPath, cell_id: int, *, latencies_valid: bool) -> pa.Table:
    """The request rows of one cell, in the columns and order of the table.

    Args:
        source: ``requests.parquet`` as ``client.requests_file`` writes it.
        cell_id: the cell that the requests belong to.
        latencies_valid: the cell's latency verdict; otherwise latency columns are NULL (the stamps stay).

    Raises:
        WarehouseError: the file is missing, is no Parquet, or lacks a column that a row cannot do without.
    """
    import pyarrow as pa

    raw = _read(source)
    types = {column.name: _arrow_type(column) for column in request.columns}
    count = raw.num_rows
    columns: dict[str, Any] = {
        "cell_id": pa.array([cell_id], pa.int64()).take(pa.array([0] * count, pa.int32())),
        "request": _numbers(raw["request_id"]),
        "user_number": _column(raw, "user"),
        **{name: _column(raw, name) for name in _COPIED},
        **{column_of(clock): _column(raw, column_of(clock)) for clock in _STAMPS},
        "queue_ms": _not_negative(_minus(_clock(raw, "sent_at"), _clock(raw, "queued_at"))),
        **(_latencies(raw) if latencies_valid else {}),
    }
    if raw.schema.get_field_index("phase") < 0:
        columns["phase"] = pa.array(["measured"] * count)
    cleaned = []
    for name in COLUMNS:
        column = columns.get(name)
        column = pa.nulls(count, types[name]) if column is None else column
        cleaned.append(_clean(column, types[name]))
    return pa.table(cleaned, names=list(COLUMNS))


def write_requests(connection: Connection, tables: Iterable[pa.Table]) -> int:
    """Append request rows inside the caller's transaction; returns how many. The tables are gathered into batches."""
    written = 0
    postgres = connection.dialect.name == "postgresql"
    if postgres:
        written = _copy(connection, tables)
    else:
        insert = f"INSERT INTO request ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
        cursor = _driver(connection).cursor()
        for batch in _batches(tables):
            cursor.executemany(insert, zip(*(column.to_pylist() for column in batch.columns), strict=True))
            written += batch.num_rows
    return written


def _copy(connection: Connection, tables: Iterable[pa.Table]) -> int:
    """PostgreSQL's bulk path: COPY of CSV that Arrow writes. Text is quoted, NULL is an empty unquoted field."""
    written = 0
    statement = f"COPY request ({', '.join(COLUMNS)}) FROM STDIN WITH (FORMAT csv)"
    with _driver(connection).cursor() as cursor, cursor.copy(statement) as copy:
        for rows, text in _one_ahead(_as_csv(tables)):
            copy.write(text)
            written += rows
    return written


def _as_csv(tables: Iterable[pa.Table]) -> Iterator[tuple[int, memoryview]]:
    """Batches as CSV, each with its number of rows."""
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False)
    for batch in _batches(tables):
        buffer = io.BytesIO()
        csv.write_csv(batch, buffer, options)
        yield batch.num_rows, buffer.getbuffer()


def _one_ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """The same items; the next is made by a thread meanwhile, so that files are read while the server writes."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


def _driver(connection: Connection) -> Any:
    """The driver's own connection, inside the transaction that SQLAlchemy opened on it."""
    return connection.connection.driver_connection


def _batches(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    import pyarrow as pa

    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= _BATCH:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting)


def _read(source: UPath) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    content = read_bytes(source)
    if content is None:
        raise WarehouseError(
            f"request records {source} are missing", remedy="measure the cell again, or load without it"
        )
    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        # never the gaps between events: they are most of the file, and no row needs them
        # one thread: handing a thousand rows to a pool costs more than reading them
        table = file.read([name for name in file.schema_arrow.names if name in _READ], use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise WarehouseError(f"request records {source} cannot be read as Parquet: {error}") from error
    for name in _REQUIRED:
        if table.schema.get_field_index(name) < 0:
            raise WarehouseError(f"request records {source} have no column {name}")
    return table


def _latencies(raw: pa.Table) -> dict[str, Any]:
    """The latencies of docs/metrics.md, in ms.

    TTFT, TTFV and E2E begin when the request was sent, in an open loop when it should have been sent. TPOT is the time
    from first to last token divided by the tokens after the first; NULL below two tokens.
    """
    from pyarrow import compute as pc

    sent, intended, first, last = (
        _clock(raw, name) for name in ("sent_at", "intended_at", "first_token_at", "last_token_at")
    )
    start = sent if intended is None or sent is None else pc.coalesce(intended, sent)
    found = {
        "ttft_ms": _minus(first, start),
        "ttfv_ms": _minus(_clock(raw, "first_visible_at"), start),
        "e2e_ms": _minus(last, start),
    }
    stream, tokens = _minus(last, first), _column(raw, "completion_tokens")
    if stream is not None and tokens is not None:
        gaps = pc.subtract(_float(tokens), 1.0)
        found["tpot_ms"] = pc.divide(stream, pc.if_else(pc.greater_equal(gaps, 1.0), gaps, None))
    return found


def _clock(raw: pa.Table, clock: str) -> Any:
    """A moment, in ms on the cell's clock."""
    column = _column(raw, column_of(clock))
    return None if column is None else _float(column)


def _minus(end: Any, start: Any) -> Any:
    from pyarrow import compute as pc

    return None if end is None or start is None else pc.subtract(end, start)


def _not_negative(column: Any) -> Any:
    from pyarrow import compute as pc

    return None if column is None else pc.max_element_wise(column, 0.0, skip_nulls=False)


def _float(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute as pc

    return pc.cast(column, pa.float64())  # a column without any value has no type of its own


def _numbers(ids: Any) -> Any:
    """Request numbers: the client's, or the position in the file where several client processes counted alike."""
    import pyarrow as pa
    from pyarrow import compute as pc

    unique = ids.null_count == 0 and pc.count_distinct(ids).as_py() == len(ids)
    return ids if unique else pa.array(range(len(ids)), pa.int64())


def _column(raw: pa.Table, name: str) -> Any:
    return raw[name] if raw.schema.get_field_index(name) >= 0 else None


def _arrow_type(column: sa.Column[Any]) -> Any:
    import pyarrow as pa

    if isinstance(column.type, sa.Boolean):
        return pa.bool_()
    if isinstance(column.type, (sa.BigInteger, sa.Integer)):
        return pa.int64()
    return pa.float64() if isinstance(column.type, sa.Double) else pa.string()


def _clean(column: Any, kind: Any) -> Any:
    """``column`` as ``kind``, fit for both databases: NaN is NULL, text is cleaned once for each distinct value."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    if column.type != kind:
        column = pc.cast(column, kind)
    if kind == pa.float64():
        return pc.if_else(pc.is_finite(column), column, None)
    if kind == pa.string():
        encoded = column.dictionary_encode()
        texts = pa.array([clean_text(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return texts.take(encoded.indices)
    return column
