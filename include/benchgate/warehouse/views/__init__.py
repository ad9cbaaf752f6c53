"""The views, one readable ``.sql`` file each, in the order in which they build on each other."""

from __future__ import annotations

import hashlib
from pathlib import Path

# a view may use the ones above it
VIEWS = (
    "published_cell",
    "did_not_run",
    "unpublishable",
    "failed_cell",
    "arm_pair",
    "arm_comparison",
    "nightly_trend",
    "versus_reference",
    "request_percentile_check",
    "reversal",
    "regression",
)


def view_sql(name: str) -> str:
    """The text of one view: a comment that says what it answers, then ``CREATE VIEW``."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")


def view_sha256(name: str) -> str:
    """Hash of the text, to see whether a database has this one."""
    return hashlib.sha256(view_sql(name).encode()).hexdigest()
