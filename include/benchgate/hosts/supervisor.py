"""Holds one server on this machine: ``python -m benchgate.hosts.supervisor``, started by the process host.

It has left the process that started it (an Airflow task ends, the server lives on), yet the server never outlives it
(the kernel kills the server with it) nor the run's owner, nor the folder that its lease lies in: once that is removed,
nobody could find the server to stop it. From start to teardown it holds the placement's lease, also
after the server has died by itself, so that nobody takes the placement before the run has looked at what happened.

It reads one JSON request from its standard input and answers with one JSON line. Secrets come through there, go into
the server's environment, and nowhere else. SIGTERM stops the server and ends it. Standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchgate.hosts import process_child
from benchgate.hosts.process_state import LaunchState, PlacementFolder
from benchgate.hosts.process_table import ProcessId, alive, end_all, family, identify, oom_kills, stat

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.25  # how soon a gone owner is noticed
DEFAULT_GRACE_S = 10.0
LAST_WORD_S = 10.0
WATCHED = (signal.SIGTERM, signal.SIGCHLD)


class Supervisor:
    """One server and the lease it runs under."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.lock: int = request["lock_fd"]  # held by being open
        self.folder = PlacementFolder(Path(request["state_dir"]), request["facts"]["lease"])
        me = identify(os.getpid())
        assert me is not None
        owner = request["owner"]
        self.state = LaunchState(
            **request["facts"], started_at=_now(), supervisor=me, owner=ProcessId.parse(owner) if owner else None
        )
        self.oom_kills = oom_kills()
        self.server_pid: int | None = None

    def start(self) -> None:
        """Start the server.

        Raises:
            OSError: the log or the state cannot be written, or the machine has no room for a process.
        """
        self.folder.prune()
        self.folder.write(self.state)
        self.folder.set_current(str(self.state.supervisor))
        with self.folder.log_file(str(self.state.supervisor)).open("wb") as log:
            server = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", process_child.__file__, str(os.getpid()), self.request["cpus"]),
                    *self.request["argv"],
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.request["env"],
                cwd=self.folder.launch_dir(str(self.state.supervisor)),
                start_new_session=True,  # its session tells its workers from everybody else's
            )
        self.server_pid = server.pid
        server.returncode = 0  # this process waits for its children itself, see reap()
        found = stat(server.pid)  # a zombie as well: it may have ended already
        self.state = replace(self.state, server=found.id if found else None)
        self.folder.write(self.state)

    def hold(self) -> str:
        """Hold the lease until somebody asks for the end, or its owner or its folder is gone; returns which."""
        while True:
            got = signal.sigtimedwait(WATCHED, LOOK_EVERY_S)
            self.reap()
            if got is not None and got.si_signo == signal.SIGTERM:
                return "stop"
            if self.state.owner is not None and not alive(self.state.owner):
                return "owner_gone"
            if not self.folder.lock.exists():
                return "state_gone"

    def reap(self, end: str = "itself") -> None:
        """Collect children that ended, ours and orphans; note how the server ended, once."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.server_pid:
                self.server_pid = None
                self.note_end(os.waitstatus_to_exitcode(status), end)

    def note_end(self, code: int, end: str) -> None:
        """Keep how the server ended: its exit code, or the signal that killed it."""
        name = signal.Signals(-code).name if code < 0 else None
        oom: bool | None = False
        if name == "SIGKILL" and end == "itself":
            now = oom_kills()
            oom = None if now is None or self.oom_kills is None else now > self.oom_kills
        self.state = replace(
            self.state,
            ended_at=_now(),
            exit_code=code if code >= 0 else None,
            signal=name,
            oom_killed=oom,
            end=end,
        )
        if self.folder.lock.exists():  # else the folder was removed with everything in it, and stays so
            self.folder.write(self.state)

    def teardown(self, why: str) -> None:
        """End the server and everything it started, then note how it went."""

        def members() -> list[Any]:
            self.reap(why)
            return family(self.folder.mark, server=self.state.server, supervisor=os.getpid())

        end_all(members, grace_s=self.grace_s())
        deadline = time.monotonic() + LAST_WORD_S
        while self.server_pid is not None and time.monotonic() < deadline:  # the kernel is still taking it apart
            self.reap(why)
            time.sleep(0.02)

    def grace_s(self) -> float:
        """Seconds between SIGTERM and SIGKILL, as the one who asked for the end wrote them."""
        with contextlib.suppress(OSError, ValueError):
            return float((self.folder.launch_dir(str(self.state.supervisor)) / "grace").read_text())
        return DEFAULT_GRACE_S


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


def answer(**facts: str) -> None:
    """One JSON line to the one who asked."""
    os.write(1, json.dumps(facts).encode() + b"\n")


def main() -> int:
    """Detach, start, answer, hold, tear down."""
    request = json.loads(sys.stdin.buffer.readline())
    if os.fork():  # the caller waits for this process only; the one that stays is nobody's child any more
        return 0
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN: the server would inherit that
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    supervisor = Supervisor(request)
    try:
        supervisor.start()
        answer(id=str(supervisor.state.supervisor), started_at=supervisor.state.started_at)
    except OSError as error:  # also when nobody reads the answer any more: then nobody could ever stop the server
        supervisor.teardown("stop")
        with contextlib.suppress(OSError):
            answer(error=str(error))
        return 1
    devnull = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(devnull, descriptor)
    supervisor.teardown(supervisor.hold())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
