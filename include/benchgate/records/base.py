"""What every record is, and the line that a fact was read from."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Base of all records: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class Evidence(Record):
    """The line that a fact was read from."""

    line: int | None  # counts from 1; None when the fact came from an API, not a log
    text: str
    source: Literal["log", "api", "image", "host"] = "log"
