"""docs/clients.md, out of measured results only."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def machine() -> dict[str, str]:
    """What the comparison ran on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    cores = sum(line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines())
    return {"cpu": model, "cores": str(cores), "kernel": platform.release(), "python": platform.python_version()}


def render(rows: Sequence[Row]) -> str:
    """The page."""
    return ""


def _median(rows: Sequence[Row], key: str) -> float | None:
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


_Format = Callable[[float | None], str]
