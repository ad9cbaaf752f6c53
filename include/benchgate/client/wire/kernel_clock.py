"""The kernel's time of receipt, on our clock.

With ``SO_TIMESTAMPNS`` Linux notes when a packet reached this machine and hands the time out with the bytes. How long
the process then needs to wake up and read - 0.2 ms on an idle virtual machine, more on a busy one - is the client's own
delay, and is no part of what the server took.

The kernel's stamp is of the wall clock. It is put on the monotonic clock by their difference, read close by. A wall
clock that was set in between would move stamps by as much; so a difference that changes by more than clocks are slewed
makes the reads of that moment keep their own time.
"""

from __future__ import annotations

import socket
import struct
import sys
from time import monotonic, time

SO_TIMESTAMPNS = 35  # Linux; Python has no name for it
ANCILLARY = socket.CMSG_SPACE(16)
STEP_S = 200e-6  # a larger change of the difference is a wall clock that was set, and no slewing
SLEW = 500e-6  # seconds a second: the most by which a wall clock is slewed
TRIES = 4

unpack = struct.Struct("qq").unpack


def ask_for_stamps(sock: socket.socket) -> bool:
    """Ask for the time of receipt of all that ``sock`` will get; False where the kernel has no such stamp."""
    if not sys.platform.startswith("linux") or sys.maxsize <= 2**32:
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


class KernelClock:
    """Difference between the wall clock and the monotonic one, watched for steps."""

    __slots__ = ("_at", "offset", "steps")

    def __init__(self) -> None:
        self.steps = 0  # how often the wall clock was set
        self.offset, self._at = self._read(), monotonic()

    @staticmethod
    def _read() -> float:
        """The largest of several: a pause between the two clocks makes the difference smaller, never larger."""
        return max(time() - monotonic() for _ in range(TRIES))

    def compare(self) -> bool:
        """Read the difference again; False when the wall clock was set since the last time."""
        offset, now = time() - monotonic(), monotonic()
        known = self.offset
        if -20e-6 < offset - known < 20e-6:
            self.offset, self._at = offset, now
            return True
        offset = self._read()
        steady = abs(offset - known) < STEP_S + SLEW * (now - self._at)
        self.offset, self._at = offset, now
        self.steps += not steady
        return steady
