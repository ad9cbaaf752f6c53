"""Whose memory is on a placement's GPUs, before and after a server: the same words for every kind of host.

Pure but for the clock: who asks ``nvidia-smi``, and where, is the host's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchgate.errors import HostError
from benchgate.hosts.base import PreflightFinding
from benchgate.hosts.gpu import GpuFact, GpuProcess
from benchgate.records import FailureKind
from benchgate.secrets import mask

IDLE_GIB = 1.0  # a driver and a display hold less than this; an engine holds more
POLL_S = 2.0
CHECK = "gpu_memory"


def chosen(gpus: Sequence[GpuFact], wanted: Sequence[str]) -> tuple[list[GpuFact], list[str]]:
    """The GPUs of a placement, and the names in it that the host does not have."""
    if list(wanted) == ["all"]:
        return list(gpus), []
    found = [fact for fact in gpus if fact.index in wanted or fact.uuid in wanted]
    known = {name for fact in found for name in (fact.index, fact.uuid)}
    return found, [name for name in wanted if name not in known]


def findings(
    gpus: Sequence[GpuFact], users: Sequence[GpuProcess], wanted: Sequence[str], host: str
) -> list[PreflightFinding]:
    """Refuse GPUs that are not there, and those that somebody else holds memory on, naming the processes.

    Args:
        gpus: all GPUs of the host.
        users: the processes that hold memory on them.
        wanted: indexes or UUIDs of the placement, or only ``all``.
        host: its name.
    """
    found, unknown = chosen(gpus, wanted)
    if unknown or not found:
        there = ", ".join(fact.index or "?" for fact in gpus)
        message = f"host {host} has no GPU {', '.join(unknown or wanted)}; it has {there or 'none'}"
        remedy = "correct gpus of the placement in hosts.yaml" if there else "install the driver: nvidia-smi shows none"
        return [PreflightFinding(CHECK, False, message, remedy=remedy)]
    return [_one(fact, users) for fact in found]


def _one(fact: GpuFact, users: Sequence[GpuProcess]) -> PreflightFinding:
    if fact.memory_used_gib is None:  # the look at the host's memory covers it
        message = f"GPU {fact.index} ({fact.name}) does not say how much of its memory is used (unified memory)"
        return PreflightFinding(CHECK, True, message)
    busy = fact.memory_used_gib > IDLE_GIB
    holders = "; ".join(
        f"pid {user.pid or 'unknown'} {mask(user.name)} holds {_mib(user.memory_used_mib)}"
        for user in users
        if user.gpu == fact.uuid
    )
    of = "" if fact.memory_total_gib is None else f" of {fact.memory_total_gib:.1f}"
    message = f"GPU {fact.index}: {fact.memory_used_gib:.2f}{of} GiB in use"
    return PreflightFinding(
        CHECK,
        not busy,
        f"{message}: {holders}" if holders else message,
        remedy="end those processes; Benchgate does not touch what is not its own" if busy else None,
        kind=FailureKind.GPU_MEMORY_IN_USE,
    )


def _mib(value: float | None) -> str:
    return "an unknown amount" if value is None else f"{value:.0f} MiB"


def all_idle(gpus: Sequence[GpuFact]) -> bool | None:
    """Whether nobody holds memory on any of the GPUs; None when there are none, or one does not say."""
    used = [fact.memory_used_gib for fact in gpus]
    if not used or any(gib is None for gib in used):
        return None
    return all(gib is not None and gib <= IDLE_GIB for gib in used)


def returned(look: Callable[[], Sequence[GpuFact]], wanted: Sequence[str], *, timeout_s: float = 60.0) -> bool | None:
    """Whether the memory of a placement's GPUs is free again, waiting ``timeout_s`` for it.

    Engines are known to leave workers behind that hold a GPU after their server is gone. None where there is no GPU,
    where nobody can look, or where the driver does not say.
    """
    if not wanted:
        return None
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            answer = all_idle(chosen(look(), wanted)[0])
        except HostError:
            return None
        if answer is not False or time.monotonic() > deadline:
            return answer
        time.sleep(POLL_S)
