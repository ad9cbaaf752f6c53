"""The Engine interface: an arm in, a command line out; a log in, facts out. One file an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from benchgate.engines.arguments import UnknownArgument
from benchgate.engines.log_reader import RawLine
from benchgate.records import Evidence, ExitInfo, Failure, Proof, ServerMetricsSnapshot
from benchgate.spec.campaign import ArgValue


@dataclass(frozen=True)
class ServerRequest:
    """What an engine adapter needs to write a command line."""

    model_path: str  # as the server sees it: a hub id, a path in the container, or a local file
    served_model_name: str
    args: dict[str, ArgValue]
    env: dict[str, str]
    host: str  # bind address
    port: int | str  # "{port}": the host fills in the free port that it chose
    gpu_count: int = 0
    vocab_dir: str | None = None  # as the server sees it
    in_container: bool = True
    image_entrypoint: list[str] = field(default_factory=list)  # of the image; empty when unknown
    offline: bool = True  # started without egress: the adapter adds its engine's offline variables


@dataclass(frozen=True)
class ServerCommand:
    """What to start: ``argv`` without the image, environment, and whether argv replaces the entrypoint."""

    argv: list[str]
    env: dict[str, str]
    entrypoint: list[str] | None = None  # None: keep the image's


@dataclass(frozen=True)
class LogFacts:
    """Everything a log said. A missing proof is unknown, never zero and never "as requested"."""

    proofs: dict[str, Proof]
    warnings: list[Evidence]
    ready: bool
    failure: Failure | None  # the root cause line, if the log shows one
    lines: int


class Engine(Protocol):
    """One inference engine. The only place that knows that engine's words."""

    name: str
    health_path: str
    help_variants: tuple[list[str], ...]  # arguments that make the server print its arguments; the first that works
    help_entrypoint: list[str] | None  # the command they follow in a container; None: the image's own
    help_lists: str  # a flag that every whole help lists: one that only answers a search has part of them

    def command(self, request: ServerRequest) -> ServerCommand:
        """The command line and environment for an arm.

        Raises:
            benchgate.errors.BenchgateError: a value that can never work (a ``file://`` vocabulary, for example).
        """
        ...

    def parse_log(self, lines: Iterable[RawLine]) -> LogFacts:
        """Read a log in one pass with flat memory. Never raises on content."""
        ...

    def api_proofs(self, get: Callable[[str], tuple[int, bytes]]) -> list[Proof]:
        """Facts that the server's API states (version, models, context); ``get`` fetches a path. Unknown: left out."""
        ...

    def failure(self, facts: LogFacts, exit_info: ExitInfo, *, timed_out: bool = False) -> Failure:
        """Name the failure kind and the root-cause line of a server that died or never became ready."""
        ...

    def parse_metrics(self, text: str, at: str) -> ServerMetricsSnapshot:
        """Read the server's ``/metrics`` page (Prometheus text)."""
        ...

    def compile_events(self, lines: Iterable[RawLine]) -> list[Evidence]:
        """Lines that say a kernel was compiled (or tuned) while requests were served: the cell was not warm."""
        ...

    def unknown_arguments(self, args: Mapping[str, ArgValue], help_text: str) -> list[UnknownArgument]:
        """Arguments that this version's help does not list; none when the help says nothing."""
        ...

    def pinned_host_memory_gib(self, args: Mapping[str, ArgValue], env: Mapping[str, str]) -> float:
        """Host memory that all replicas of an arm pin together, in GiB, as far as its arguments say."""
        ...
