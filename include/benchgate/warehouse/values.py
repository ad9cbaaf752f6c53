"""Values on their way into the database: text that both databases take, UTC moments, no number that is not one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa

from benchgate.errors import WarehouseError
from benchgate.secrets import mask

_LARGEST = 2**63 - 1


def clean_text(text: str) -> str:
    """``text`` with secrets masked, and without what PostgreSQL cannot store: NUL and lone surrogates."""
    text = mask(text).replace("\x00", "\ufffd")
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def clean(value: Any) -> Any:
    """``value`` fit for a column or for JSON, at any depth. NaN and infinity are unknown, never numbers."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else None
    if isinstance(value, Mapping):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [clean(item) for item in value]
    return clean_text(str(value))


def moment(text: str | None, what: str) -> str | None:
    """An ISO 8601 time as UTC text that sorts: ``2026-11-30T02:00:00.000000Z``. Without a zone it is taken as UTC.

    Raises:
        WarehouseError: it is no time; the message names ``what``.
    """
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text.replace("Z", "+00:00") if text.endswith("Z") else text)
    except ValueError as error:
        raise WarehouseError(f"{what} is {text!r}, which is no ISO 8601 time") from error
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=timezone.utc)
    return parsed.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def now() -> str:
    """This moment, in the form of :func:`moment`."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def row(table: sa.Table, **values: Any) -> dict[str, Any]:
    """A row with every column of ``table``; what is not given is NULL. An unknown name is our own mistake."""
    unknown = values.keys() - table.columns.keys()
    assert not unknown, f"{table.name} has no column {', '.join(sorted(unknown))}"
    return {name: clean(values.get(name)) for name in table.columns.keys()}  # noqa: SIM118 (a mapping of columns)
