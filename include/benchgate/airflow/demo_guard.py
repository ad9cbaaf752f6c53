"""A process that outlives ``benchgate demo --docker`` by a moment: it ends what a killed demo leaves running.

A process that gets SIGKILL cleans nothing up, and its containers belong to the Docker Engine. This one reads a pipe
that only the demo holds open; when the kernel closes it, however the demo ended, the demo's tasks and containers go.

Run as ``python -m benchgate.airflow.demo_guard OWNER_PID HOST ..``; each line on standard input is the session (the
leader's pid) of something the demo started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from benchgate.errors import BenchgateError
from benchgate.hosts.process_table import alive, every, identify
from benchgate.steps.leftovers import remove_leftovers

_DYING_S = 10.0  # for the kernel to take down a process whose pipe is closed already
_LOOKS = 3  # a request that was under way when its sender was killed may still make a container


class Guard:
    """The demo's end of the pipe."""

    def __init__(self, hosts: list[str], log: int) -> None:
        """Start the guard of this process.

        Args:
            hosts: whose containers are removed.
            log: file descriptor that gets what the guard says.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchgate.airflow.demo_guard", str(os.getpid()), *hosts],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C of the terminal is for the demo
        )

    def watch(self, session: int) -> None:
        """Also end everything of this session."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{session}\n".encode())
        self._process.stdin.flush()

    def close(self) -> None:
        """The demo has cleaned up after itself: nothing is left to guard."""
        self._process.kill()
        self._process.wait()


def end_session(session: int) -> int:
    """Kill every process of a session until none runs; gives how many there were."""
    ended = set()
    for _ in range(50):
        found = [process.id for process in every() if process.session == session and process.id.pid != os.getpid()]
        if not found:
            break
        for process in found:
            ended.add(process)
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)
    return len(ended)


def main(argv: list[str]) -> int:
    """Wait for the demo's end, then take down what it left."""
    owner, hosts = identify(int(argv[0])), argv[1:]
    sessions = [int(line) for line in sys.stdin]  # ends when the demo does
    for session in sessions:
        end_session(session)
    deadline = time.monotonic() + _DYING_S
    while alive(owner) and time.monotonic() < deadline:
        time.sleep(0.05)
    clean = 0
    while clean < _LOOKS:
        try:
            removed = remove_leftovers(kinds=("docker",), hosts=hosts)
        except BenchgateError as error:
            removed = [str(error)]
        for what in removed:
            sys.stdout.write(f"the demo was killed; removed {what}\n")
        sys.stdout.flush()
        clean = 0 if removed and time.monotonic() < deadline + 60 else clean + 1
        time.sleep(1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
