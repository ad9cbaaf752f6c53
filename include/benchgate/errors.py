"""The error tree. Every message names the thing (file and line, or host and container) and what to do next."""

from __future__ import annotations

from dataclasses import dataclass


class BenchgateError(Exception):
    """A failure that a person can act on. ``remedy`` says what to do next; it is part of ``str()``."""

    exit_code = 1  # of a command that it ends

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        self.message = message
        self.remedy = remedy
        super().__init__(message if remedy is None else f"{message} ({remedy})")


@dataclass(frozen=True)
class SpecProblem:
    """One mistake in a file that a person wrote. ``line`` counts from 1; ``field`` is a dotted path."""

    file: str
    line: int | None
    field: str
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.field}: {self.message}" if self.field else f"{where}: {self.message}"


class SpecError(BenchgateError):
    """A campaign, host or source file that cannot be used; carries every problem found, not only the first."""

    def __init__(self, problems: list[SpecProblem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class SeedError(BenchgateError):
    """An image, vocabulary, model or dataset could not be fetched or verified."""


class NotSeeded(SeedError):
    """A launch needs what its host's seed step did not bring. ``kind`` is one of the failure kinds of
    ``benchgate.records``: that of the seed step."""

    def __init__(self, message: str, *, kind: str, remedy: str | None = None) -> None:
        self.kind = kind
        super().__init__(message, remedy=remedy)


class HostError(BenchgateError):
    """A host cannot be used: unreachable, refuses a container, lacks space."""


class LeaseHeld(HostError):
    """The placement is held by another launch; the message names the holder."""


class PreflightRefused(HostError):
    """The host is not fit for this launch: foreign GPU memory, a taken port, too little memory or disk. ``kind`` is one
    of the failure kinds of ``benchgate.records``."""

    def __init__(self, message: str, *, kind: str) -> None:
        self.kind = kind
        super().__init__(message)


class LaunchFailed(BenchgateError):
    """A server did not become ready. ``kind`` is one of the failure kinds of ``benchgate.records``."""

    def __init__(self, message: str, *, kind: str, line: str | None = None, remedy: str | None = None) -> None:
        self.kind = kind
        self.line = line
        super().__init__(message, remedy=remedy)


class GateRefused(BenchgateError):
    """A gate refused a launch or a cell. Raised to stop an arm; the verdict is kept in the run's artifacts."""


class MeasureFailed(BenchgateError):
    """The load generator ended without a result: it crashed, was killed or could not reach the server."""


class ArtifactError(BenchgateError):
    """The artifact store cannot be used: an unknown kind of URL, no credentials, no right to write, no space left."""


class DamagedArtifact(ArtifactError):
    """A file of a run is there and is not what it should be: cut off, or of another version. ``what`` names it."""

    def __init__(self, what: str, problem: str) -> None:
        self.what = what
        super().__init__(f"{what} {problem}", remedy="it was damaged, or written by another version of Benchgate")


class WarehouseError(BenchgateError):
    """The warehouse is missing, at another migration, or refused the load. Nothing of the load is kept."""
