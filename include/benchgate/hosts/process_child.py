"""Become another program that dies with its parent. Run as a file: ``python process_child.py PARENT CPUS COMMAND..``.

Between ``fork`` and ``exec`` this is the only safe place to ask the kernel for it: the parent may have threads.

``PARENT`` is the pid that must still be the parent, ``CPUS`` a list such as ``0,1,5``, or ``-`` for all.
Exit status: 127 when the command cannot be run, 125 when the parent is gone already.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the thread that started this process ends. Survives ``exec``."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(argv: list[str]) -> int:
    """Set up this process as asked, then become the command."""
    parent, cpus, *command = argv
    die_with_parent()
    if os.getppid() != int(parent):
        return 125  # it died before the request above could hold
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    if cpus != "-":
        os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    try:
        os.execvp(command[0], command)  # noqa: S606 - a list, no shell: this module exists to do it
    except OSError as error:
        sys.stderr.write(f"benchgate: cannot run {command[0]}: {error.strerror}\n")
        return 127


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
