"""The pages of one launch: everything about it, and its server log."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from benchgate.artifacts import RunStore
from benchgate.pages.head import DagRunState, Head, head_of, is_alive
from benchgate.pages.launch_view import Launch, launch_views
from benchgate.pages.preflight import Finding, preflight_of
from benchgate.pages.run_rows import find_run
from benchgate.pages.server_log import LogPage, Tail, read_log, read_tail
from benchgate.pages.written import read_written


@dataclass(frozen=True)
class LaunchPage:
    """Everything about one launch."""

    head: Head
    launch: Launch
    note: str | None  # why the campaign has this arm
    preflight: tuple[Finding, ...]


@dataclass(frozen=True)
class LogView:
    """The server log of a launch."""

    head: Head
    launch: str
    task: str
    log: LogPage | None = None  # None: no log is kept
    tail: Tail | None = None  # while the server runs: its last lines
    running: bool = False

    def with_log(self, store: RunStore, *, page: int, line: int | None, search: str | None) -> LogView:
        """The same with a page of the log, and the last lines of a server that runs."""
        tail = read_tail(store, self.launch) if self.running else None
        return replace(self, log=read_log(store, self.launch, page=page, line=line, search=search), tail=tail)


def launch_page(
    connection: Connection | None, campaign: str, run_id: str, launch: str, *, known: DagRunState | None = None
) -> LaunchPage | None:
    """The page of one launch; None when the run, or this launch of it, does not exist."""
    found = find_run(connection, campaign, run_id)
    if found is None:
        return None
    alive = is_alive(found, known)
    mine = next((one for one in launch_views(found, alive=alive) if one.launch == launch), None)
    if mine is None:
        return None
    note = read_written(found.run["campaign_yaml"]).notes.get(mine.arm)
    return LaunchPage(head_of(found, alive, known), mine, note, preflight_of(RunStore(found.run["run"]), launch))


def log_page(
    connection: Connection | None, campaign: str, run_id: str, launch: str, *, known: DagRunState | None = None
) -> LogView | None:
    """The log page of a launch that the run's ledger has, without the log yet; None for any other name."""
    page = launch_page(connection, campaign, run_id, launch, known=known)
    if page is None:
        return None
    running = page.head.state in ("queued", "running") and page.launch.state in ("starting", "ready")
    return LogView(page.head, launch, page.launch.task, running=running and page.launch.stopped_at is None)
