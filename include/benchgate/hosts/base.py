"""The Host interface: anything that can hold a server under test. ``docker.py`` and ``process.py`` implement it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchgate.records import ExitInfo, FailureKind, GpuSample, HostFacts

OUTAGE_S = 90.0  # a restarting Docker Engine is back within this; after it, its host is given up


@dataclass(frozen=True)
class Mount:
    """A read-only mount of a seed into the server."""

    source: str  # volume name or path on the host
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class ServerSpec:
    """A server to start on a placement."""

    campaign: str
    run: str
    arm: str
    placement: str  # name within the host
    argv: list[str]
    env: dict[str, str]
    port: int
    image: str | None = None  # repo@sha256:..; None on a process host
    entrypoint: list[str] | None = None
    gpus: list[str] = field(default_factory=list)
    cpus: str | None = None
    shm_size_gib: float | None = None  # None: host IPC
    mounts: list[Mount] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)  # environment, never logged
    pinned_host_memory_gib: float = 0.0  # what the arm will pin (replicas x CPU KV buffer)
    internal_network: bool = True  # no egress
    owner_pid: int | None = None  # process host: when this process is gone, the server must go


@dataclass(frozen=True)
class ServerHandle:
    """How to find a started server again from another process: plain strings, safe for XCom."""

    host: str
    placement: str
    name: str  # container name, or lease name on the process host
    id: str  # container id, or pid with its start time
    base_url: str  # as the load generator reaches it
    started_at: str


@dataclass(frozen=True)
class ServerStatus:
    """Whether the server still runs; how it ended if not."""

    running: bool
    exit: ExitInfo


@dataclass(frozen=True)
class PreflightFinding:
    """One thing that preflight looked at."""

    check: str  # leftovers, gpu_memory, shm, host_memory, disk, port, image, seeds
    ok: bool
    message: str
    remedy: str | None = None
    removed: list[str] = field(default_factory=list)  # what was ours, stale, and is gone now
    kind: FailureKind = FailureKind.PREFLIGHT  # what it makes of a launch that it refuses


def never(_name: str) -> bool:
    """Nothing is known to be over."""
    return False


class Host(Protocol):
    """A machine with placements. Methods raise :class:`benchgate.errors.HostError` with host and container named."""

    name: str

    def facts(self) -> HostFacts:
        """What the host says about itself now."""
        ...

    def preflight(
        self, spec: ServerSpec, *, run_is_over: Callable[[str], bool], launch_is_over: Callable[[str], bool] = never
    ) -> list[PreflightFinding]:
        """Look before a launch. Removes what is ours and stale; never touches anything else.

        Stale is what belongs to a run that is over, to an earlier try of this launch, or to another arm of this run
        that was launched on this placement and whose launch is over (``launch_is_over``, by arm): its stop was killed.
        """
        ...

    def remove_earlier(self, spec: ServerSpec) -> list[str]:
        """Remove what an earlier try of this very launch (its run and arm, on its placement) left; says what.

        For the one task that starts the launch: a try before it that was killed could not give its lease back.
        """
        ...

    def start(self, spec: ServerSpec) -> ServerHandle:
        """Take the placement's lease and start the server; atomic: LeaseHeld when somebody has it.

        A start that fails leaves nothing behind.
        """
        ...

    def status(self, handle: ServerHandle) -> ServerStatus:
        """Is it running, and how did it end."""
        ...

    def log_lines(self, handle: ServerHandle) -> Iterator[bytes]:
        """The server's log from its first line, stdout and stderr merged."""
        ...

    def log_tail(self, handle: ServerHandle, lines: int) -> list[bytes]:
        """At most the last ``lines`` lines of a running server's log, read from its end; fewer when they are long."""
        ...

    def http_get(self, handle: ServerHandle, path: str, *, timeout_s: float = 10.0) -> tuple[int, bytes]:
        """GET on the server, from where the load generator would send it."""
        ...

    def http_post(self, handle: ServerHandle, path: str, body: bytes, *, timeout_s: float = 60.0) -> tuple[int, bytes]:
        """POST JSON on the server, from where the load generator would send it."""
        ...

    def gpu_samples(self, handle: ServerHandle) -> list[GpuSample]:
        """The server's GPUs at this moment; empty where it has none or they do not say."""
        ...

    def run_client(
        self,
        handle: ServerHandle,
        args: list[str],
        output: Path,
        *,
        on_line: Callable[[str], None],
        timeout_s: float,
        mounts: Sequence[Mount] = (),
    ) -> int:
        """Run ``python -m benchgate ARGS --output DIR`` beside the server; its result files end up in ``output``.

        ``mounts`` are seeds that the client reads (datasets, tokenizers): on a process host ARGS name their source,
        in a container their target. A caller that is interrupted leaves no client behind.
        """
        ...

    def stop_client(self, handle: ServerHandle) -> None:
        """Ask the load generator that this process runs beside a server to finish; nothing where there is none.

        :meth:`run_client`, in another thread, returns with what was measured until then.
        """
        ...

    def stop(self, handle: ServerHandle, *, grace_s: float = 10.0) -> ExitInfo:
        """Stop the server, free the lease, and say how it ended. Safe to call twice, also by two at once."""
        ...

    def gpu_memory_returned(self, gpus: Sequence[str], *, timeout_s: float = 60.0) -> bool | None:
        """After :meth:`stop`: is the memory of these GPUs free again? Waits for it; None where no GPU can be asked."""
        ...

    def reap(self, *, run_is_over: Callable[[str], bool]) -> list[str]:
        """Remove everything labelled ours whose run is over; returns what was removed, in words."""
        ...
