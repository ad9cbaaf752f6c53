"""The server log of a launch, a page of lines at a time. The whole log is never held in memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from benchgate.artifacts import RunStore
from benchgate.errors import DamagedArtifact
from benchgate.pages.words import iso
from benchgate.secrets import mask

LINES_A_PAGE = 500
LONGEST_LINE = 4_000  # characters shown of one line
MOST_MATCHES = 200
MOST_TAIL_LINES = 200


@dataclass(frozen=True)
class LogRow:
    """One line; ``cut`` when only its beginning is shown."""

    number: int
    text: str
    cut: bool = False


@dataclass(frozen=True)
class LogPage:
    """A page of a log, or the lines that hold a searched text."""

    lines: tuple[LogRow, ...]
    total: int
    page: int
    pages: int
    marked: int | None = None
    searched: str | None = None
    more_matches: bool = False
    damaged: bool = False  # the file ends early: what could be read is here


@dataclass(frozen=True)
class Tail:
    """The last lines of the log of a server that runs, as its task saw them at a moment."""

    at: str | None
    lines: tuple[str, ...]


def read_tail(store: RunStore, launch: str) -> Tail | None:
    """The end of a running server's log; None before anybody looked, or when the file cannot be read."""
    try:
        said = store.read_json(store.launch_path(launch, "server.log.tail.json"))
    except DamagedArtifact:
        return None
    lines = said.get("lines") if isinstance(said, dict) else None
    if not isinstance(lines, list):
        return None
    return Tail(iso(said.get("at")), tuple(mask(str(line))[:LONGEST_LINE] for line in lines[-MOST_TAIL_LINES:]))


def read_log(
    store: RunStore, launch: str, *, page: int = 1, line: int | None = None, search: str | None = None
) -> LogPage | None:
    """A page of a launch's server log; None when none was kept (the server is still running, or never started).

    Args:
        store: the run's artifacts.
        launch: a launch key of that run's ledger.
        page: from 1; one beyond the end gives the last page.
        line: show the page that holds this line (from 1), and mark it.
        search: show only lines that hold this text, in any case.
    """
    target = store.launch_path(launch, "server.log.gz")
    if line is not None:
        page = (max(1, line) - 1) // LINES_A_PAGE + 1
    wanted = search.casefold() if search else None
    kept: list[LogRow] = []
    last: list[LogRow] = []  # the page being read, for a number beyond the end
    total, more, damaged = 0, False, False
    try:
        with store.opened(target) as raw, gzip.open(raw) as lines:
            for total, text in enumerate(_texts(lines), start=1):
                if wanted is not None:
                    if wanted in text.casefold():
                        more = len(kept) >= MOST_MATCHES
                        if not more:
                            kept.append(_row(total, text))
                    continue
                if (total - 1) % LINES_A_PAGE == 0:
                    last = []
                if (total - 1) // LINES_A_PAGE + 1 <= page:
                    last.append(_row(total, text))
                if (total - 1) // LINES_A_PAGE + 1 == page:
                    kept = last
    except FileNotFoundError:
        return None
    except (EOFError, OSError, zlib.error):
        damaged = True
    pages = max(1, -(-total // LINES_A_PAGE))
    if wanted is None and not kept:
        kept, page = last, pages
    return LogPage(
        lines=tuple(kept),
        total=total,
        page=min(page, pages),
        pages=pages,
        marked=line,
        searched=search or None,
        more_matches=more,
        damaged=damaged,
    )


def _texts(lines: Iterator[bytes]) -> Iterator[str]:
    for line in lines:
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _row(number: int, text: str) -> LogRow:
    shown = mask(text)
    return LogRow(number, shown[:LONGEST_LINE], len(shown) > LONGEST_LINE)
