"""One pass over a server log, for every engine: its words in, :class:`LogFacts` out.

An engine adapter is a :class:`Words` (what its lines say) and, where ranks or versions need thought, a ``finish``
function. A new engine is one file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from benchgate.engines.base import LogFacts
from benchgate.engines.failures import Crash, FailureWords, RootCause
from benchgate.engines.log_reader import LineFilter, LogLine, RawLine, evidence, lines_with
from benchgate.engines.proofs import MAX_RANKS, Fact, Sightings
from benchgate.records import Evidence

MAX_WARNINGS = 50
MAX_WARNINGS_OF_A_KIND = 10
_TRACEBACK = ("Traceback (most recent call last)", "Error", "Exception", "OutOfMemory")
_NEAR = ("pin_memory", "cudaHost", "cudaMallocHost")  # traceback frames that FailureWords.near looks for
Finish = Callable[[Sightings, list[Evidence]], None]


@dataclass(frozen=True)
class Said:
    """Words that mean one thing: the literal for the quick filter, and the pattern that must match."""

    words: str
    pattern: str
    compiled: re.Pattern[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile(self.pattern))

    def in_line(self, line: LogLine) -> re.Match[str] | None:
        """The match, if ``line`` says it."""
        return self.compiled.search(line.text) if self.words in line.text else None


def said(words: str, pattern: str | None = None) -> Said:
    """Words that are matched as they stand, or with ``pattern``."""
    return Said(words, re.escape(words) if pattern is None else pattern)


@dataclass(frozen=True)
class Words:
    """Everything an engine's log can say to us.

    Attributes:
        facts: see :class:`benchgate.engines.proofs.Fact`.
        failures: see :class:`benchgate.engines.failures.FailureWords`.
        crash: how its tracebacks are read.
        ready: any of these means that the server accepts requests.
        warnings: lines a person should see beside the proofs.
        compiling: kernels compiled (or tuned) in a line that only counts while requests are served.
        bulk: literals of the lines that make its log long and say nothing to us (requests answered, throughput).
        draft_begins, draft_ends: between them a process loads the model that drafts.
        draft_names: what facts that it states meanwhile are called, to be kept apart from the served model's.
        finish: works out what several lines say together (how a pool's size was formed, two kernels claimed).
    """

    facts: tuple[Fact, ...]
    failures: tuple[FailureWords, ...]
    crash: Crash
    ready: tuple[Said, ...]
    warnings: tuple[Said, ...] = ()
    compiling: tuple[Said, ...] = ()
    finish: Finish | None = None
    bulk: tuple[str, ...] = ()
    draft_begins: tuple[Said, ...] = ()
    draft_ends: tuple[Said, ...] = ()
    draft_names: Mapping[str, str] = field(default_factory=dict)
    filter: LineFilter = field(init=False, compare=False, repr=False)
    serving_filter: LineFilter = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        always = {
            *(fact.words for fact in self.facts),
            *(failure.words for failure in self.failures if failure.while_serving or failure.denies_ready),
            *self.crash.engine_died,
            *self.crash.stopping,
            *(item.words for item in (*self.ready, *self.warnings, *self.compiling, *self.draft_begins)),
        }
        starting = {*(failure.words for failure in self.failures), *_NEAR, *_TRACEBACK}
        object.__setattr__(self, "filter", LineFilter(always | starting, self.bulk))
        # While a healthy server answers, its tracebacks are those of requests, and there can be very many.
        object.__setattr__(self, "serving_filter", LineFilter(always, self.bulk))


def parse(words: Words, lines: Iterable[RawLine]) -> LogFacts:
    """Read a log once, with memory that does not grow with it. Never raises on content."""
    seen = Sightings()
    cause = RootCause(words.failures, words.crash)
    facts = list(words.facts)
    warnings: list[Evidence] = []
    kinds: Counter[str] = Counter()
    drafting: set[str] = set()
    ready = False
    count = 0

    def wants(raw: bytes) -> bool:
        serving = ready and cause.engine_died is None
        return (words.serving_filter if serving else words.filter).wants(raw)

    for line in lines_with(lines, wants):
        if isinstance(line, int):
            count = line
            continue
        _follow_draft(words, line, drafting)
        seen.look(line, facts, names=words.draft_names if line.process in drafting else {})
        cause.look(line, ready=ready)
        if not ready and any(item.in_line(line) for item in words.ready):
            ready = True
            cause.forget()
            seen.add("ready", True, line, 0)
        watched = (*words.warnings, *words.compiling) if ready else words.warnings
        kind = next((item.pattern for item in watched if item.in_line(line)), None)
        if kind is not None:
            kinds[kind] += 1
            if kinds[kind] <= MAX_WARNINGS_OF_A_KIND and len(warnings) < MAX_WARNINGS:
                warnings.append(evidence(line))
    if cause.denied:
        ready = False
        seen.by_name.pop("ready", None)
    if words.finish is not None:
        words.finish(seen, warnings)
    return LogFacts(proofs=seen.proofs(), warnings=warnings, ready=ready, failure=cause.answer(), lines=count)


def _follow_draft(words: Words, line: LogLine, drafting: set[str]) -> None:
    """Keep account of the processes that are loading a model that drafts."""
    if any(item.in_line(line) for item in words.draft_begins) and len(drafting) < MAX_RANKS:
        drafting.add(line.process)
    elif drafting and any(item.in_line(line) for item in words.draft_ends):
        drafting.discard(line.process)


def compile_events(words: Words, lines: Iterable[RawLine]) -> list[Evidence]:
    """Lines that say a kernel was compiled or tuned. Give it the part of the log that was written while measuring."""
    return [
        evidence(line)
        for line in lines_with(lines, words.serving_filter.wants)
        if not isinstance(line, int) and any(item.in_line(line) for item in words.compiling)
    ]
