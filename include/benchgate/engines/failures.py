"""Why a server died: the failure kind and the line of the root cause, not the last line of the last traceback.

A dying server prints the cause once, in the process that met it, and then the same accident again from every
process above. So the first line of the most telling kind wins, and lines that only point elsewhere
("See root cause above.") never do.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from benchgate.engines.log_reader import LogLine, evidence
from benchgate.records import Evidence, ExitInfo, Failure, FailureKind

CERTAIN, LIKELY, HINT = 3, 2, 1
NEAR_LINES = 60


@dataclass(frozen=True)
class FailureWords:
    """Words by which an engine's log names a failure.

    Attributes:
        kind: the failure kind; None: what no kind stands for (a driver too old, NCCL) is named in words, and the kind
            says which process it ended.
        words: a literal that every such line contains (the quick filter).
        pattern: searched in the cleaned line.
        reason: what happened, one sentence; ``{0}`` .. are the pattern's groups.
        remedy: what a person does next.
        weight: a heavier kind wins over a lighter one that came earlier.
        while_serving: counts after the server was ready as well (before that, everything counts).
        denies_ready: the server was never reachable, whatever it printed before.
        near: counts only when this pattern stood in one of the ``NEAR_LINES`` interesting lines before.
    """

    kind: FailureKind | None
    words: str
    pattern: str
    reason: str
    remedy: str
    weight: int = CERTAIN
    while_serving: bool = False
    denies_ready: bool = False
    near: str | None = None
    compiled: re.Pattern[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile(self.pattern))


@dataclass(frozen=True)
class Crash:
    """How an engine's tracebacks are read when no words name the kind.

    Attributes:
        pointers: words of lines that only say "look above"; never a root cause.
        engine_died: words that say that the engine (not the HTTP front) is gone.
        engine_process: names of processes that hold the engine, searched in the line's process name.
        stopping: words of an orderly shutdown; a process that goes away after them did not die.
    """

    pointers: tuple[str, ...] = ()
    engine_died: tuple[str, ...] = ()
    engine_process: str = r"(?!)"
    stopping: tuple[str, ...] = ()


# The last line of a traceback: raw, behind a logger's "ERROR 11-30 09:01:24 [core.py:838] ", or in a group ("  | ").
_EXCEPTION = re.compile(
    r"^(?:\S.*\] |\S*\| |ERROR:? +)?"
    r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Dead|Failure|OutOfMemory\w*))(?::|$)"
)
_HANDLED_LEVELS = ("DEBUG", "INFO", "WARNING", "WARN")
_NOT_FATAL = (
    "KeyboardInterrupt",
    "SystemExit",
    "asyncio.exceptions.CancelledError",
    "CancelledError",
    "BrokenPipeError",
)


@dataclass
class RootCause:
    """Finds the root cause in one pass: feed it the lines, then ask."""

    words: tuple[FailureWords, ...]
    crash: Crash
    best: tuple[int, FailureWords, LogLine, str, Evidence] | None = None  # weight, words, line, reason, evidence
    exception: tuple[Evidence, str] | None = None  # the first one in a traceback, and its process
    engine_died: Evidence | None = None
    in_traceback: set[str] = field(default_factory=set)
    denied: bool = False
    stopping: bool = False
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=NEAR_LINES))

    def forget(self) -> None:
        """The server became ready: whatever it met before, it got over it."""
        self.best = self.exception = self.engine_died = None
        self.in_traceback.clear()

    def look(self, line: LogLine, *, ready: bool) -> None:
        """Read one line; ``ready`` says whether the server has been ready before it."""
        for words in self.words:
            if words.words not in line.text or (ready and not (words.while_serving or words.denies_ready)):
                continue
            if line.level in _HANDLED_LEVELS:  # it says how it goes on: another port, memory that is not pinned
                continue
            match = words.compiled.search(line.text)
            if match is None or (self.best is not None and self.best[0] >= words.weight):
                continue
            if words.near is not None and not any(re.search(words.near, text) for text in self.recent):
                continue
            groups = [group or "?" for group in match.groups()]
            reason = f"{words.reason.format(*groups)}; {words.remedy}"
            self.best = (words.weight, words, line, reason, evidence(line, match.start()))
            self.denied = self.denied or words.denies_ready
        self.stopping = self.stopping or (ready and any(words in line.text for words in self.crash.stopping))
        if self.engine_died is None and not self.stopping:
            died = next((words for words in self.crash.engine_died if words in line.text), None)
            self.engine_died = evidence(line, line.text.find(died)) if died else None
        if not ready or self.engine_died is not None:
            self._look_for_exception(line)
        self.recent.append(line.text[:500])

    def _look_for_exception(self, line: LogLine) -> None:
        if "Traceback (most recent call last)" in line.text:
            if line.level not in _HANDLED_LEVELS and len(self.in_traceback) < 1000:
                self.in_traceback.add(line.process)
            return
        if self.exception is not None or line.process not in self.in_traceback:
            return
        match = _EXCEPTION.match(line.message)
        if match is None or match.group(1) in _NOT_FATAL:
            return
        self.in_traceback.discard(line.process)
        if not any(pointer in line.text for pointer in self.crash.pointers):
            self.exception = (evidence(line), line.process)

    def answer(self) -> Failure | None:
        """The root cause; None when the log shows no failure."""
        if self.best is not None and (self.best[0] > HINT or self.exception is None):
            _, words, line, reason, found = self.best
            return Failure(kind=words.kind or self._kind_of(line.process), reason=reason, evidence=found)
        if self.exception is not None:
            found, process = self.exception
            kind = self._kind_of(process)
            what = "the engine process" if kind is FailureKind.ENGINE_CORE_DIED else "the server's front process"
            return Failure(
                kind=kind,
                reason=f"{what} raised an exception that Benchgate has no name for; read the log around this line",
                evidence=found,
            )
        if self.engine_died is not None:
            return Failure(
                kind=FailureKind.ENGINE_CORE_DIED,
                reason="the engine process is gone and the log does not say why; look at the host (dmesg, memory, GPU)",
                evidence=self.engine_died,
            )
        return None

    def _kind_of(self, process: str) -> FailureKind:
        """Which process a failure without a kind of its own ended."""
        engine = self.engine_died is not None or re.search(self.crash.engine_process, process) is not None
        return FailureKind.ENGINE_CORE_DIED if engine else FailureKind.FRONTEND_CRASH


_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 131: "SIGQUIT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS",
            136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}  # fmt: skip

_CRASHES = ("SIGILL", "SIGABRT", "SIGFPE", "SIGSEGV")


def signal_of(exit_info: ExitInfo) -> str | None:
    """The signal that ended the process: as given, or read from a shell's 128 + n or Python's -n."""
    if exit_info.signal is not None:
        return exit_info.signal
    code = exit_info.exit_code
    return None if code is None else _SIGNALS.get(code if code >= 0 else 128 - code)


def failure_with_exit(found: Failure | None, exit_info: ExitInfo, *, timed_out: bool = False) -> Failure:
    """The failure of a server that died or never became ready: the log's root cause weighed with how it ended.

    The kernel's word counts most (OOMKilled); then the log's; then the signal or exit code; a timeout is named only
    when the log shows nothing else.
    """
    seen = found.evidence if found else None
    if exit_info.oom_killed:
        return Failure(
            kind=FailureKind.HOST_OOM,
            reason="the host ran out of memory and the kernel killed the server (OOMKilled); give it more memory, "
            "or pin less of it (CPU KV buffers count once a replica)",
            evidence=seen if found and found.kind is FailureKind.HOST_OOM else _exit_evidence(exit_info),
        )
    if found is not None:
        return found
    if timed_out and exit_info.exit_code is None:
        return Failure(
            kind=FailureKind.TIMEOUT,
            reason="the server did not become ready in time and its log names no cause; raise limits.start_seconds, "
            "or look at what its last lines wait for",
        )
    signal = signal_of(exit_info)
    if signal == "SIGBUS":
        return Failure(
            kind=FailureKind.SHM_TOO_SMALL,
            reason="a bus error ended the server, which in a container means that /dev/shm is full; "
            "give the container host IPC or a larger shm_size_gib",
            evidence=_exit_evidence(exit_info),
        )
    if signal in _CRASHES:
        return Failure(
            kind=FailureKind.FRONTEND_CRASH,
            reason=f"the server's first process crashed ({signal}) without a word in its log; look for a core dump",
            evidence=_exit_evidence(exit_info),
        )
    if signal is not None:
        return Failure(
            kind=FailureKind.KILLED,
            reason=f"{signal} ended the server from outside and its log names no cause; somebody stopped it, "
            "or the host did (dmesg says which)",
            evidence=_exit_evidence(exit_info),
        )
    code = "an unknown exit code" if exit_info.exit_code is None else f"exit code {exit_info.exit_code}"
    return Failure(
        kind=FailureKind.TIMEOUT if timed_out else FailureKind.UNKNOWN,
        reason=f"the server ended with {code} and its log names no cause; read its last lines",
        evidence=_exit_evidence(exit_info) if exit_info.exit_code is not None else None,
    )


def exit_in_words(exit_info: ExitInfo) -> str:
    """``exit code 137, OOMKilled, SIGKILL``: what is known of an end; empty when nothing is."""
    said = [
        f"exit code {exit_info.exit_code}" if exit_info.exit_code is not None else "",
        "OOMKilled" if exit_info.oom_killed else "",
        exit_info.signal or "",
    ]
    return ", ".join(part for part in said if part)


def _exit_evidence(exit_info: ExitInfo) -> Evidence:
    return Evidence(line=None, text=exit_in_words(exit_info), source="host")
