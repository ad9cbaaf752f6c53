"""The whole validation result as artifacts: JSON for machines, Great Expectations' own Data Docs for people."""

from __future__ import annotations

from pathlib import Path

from upath import UPath

from benchgate.artifacts import RunStore

VALIDATION_FILE = "validation.json"
DOCS_FOLDER = "docs"  # its index.html is where to begin reading
ARTIFACTS = "gates"  # folder of the run's artifact store


def keep_report(store: RunStore, report_dir: Path) -> UPath:
    """Copy what ``run_gates`` wrote to ``report_dir`` into the run's artifacts; returns the folder there.

    The names of the files stay as they are, since the pages of the Data Docs link each other by them.
    """
    target = store.path(ARTIFACTS)
    for file in sorted(report_dir.rglob("*")):
        if file.is_file():
            there = target
            for part in file.relative_to(report_dir).parts:
                there = there / part
            store.put(there, file)
    return target
