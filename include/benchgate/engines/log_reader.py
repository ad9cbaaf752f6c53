"""Server logs as lines: decoding, terminal colours, progress bars, and which process and rank wrote a line.

Owns the shape of a log. Does not know what any line means: :mod:`benchgate.engines.proofs` does.
Nothing here raises on content: a log is whatever a dying process left behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from benchgate.records import Evidence
from benchgate.secrets import MASK, mask

RawLine = str | bytes | tuple[int, bytes]  # a tuple brings its own line number (see number_lines)
MAX_LINE_BYTES = 65536  # longer lines are read in pieces that share a line number, so that memory stays flat
MAX_TEXT_CHARS = 32768  # of a line, looked at closely; engines' longest (their whole configuration) have about 20,000
MAX_EVIDENCE_CHARS = 500

# Colours and cursor movements (CSI), window titles (OSC), and the remaining two-byte escapes.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]?")
_ESCAPES_RAW = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
# The same in a log that was pasted: as some viewers show it, or without the escape character.
_CARETS = re.compile(r"\^\[\[[0-?]*[ -/]*[@-~]|\^M$")
_BARE_COLOURS = re.compile(r"\[\d{1,2}(?:;\d{1,3})*m(?![\w ]*\])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# (EngineCore_DP0 pid=79), (VllmWorker rank=1 pid=..), (RayWorkerWrapper pid=1, ip=10.0.0.2); a worker may stand behind
# its engine: (EngineCore_0 pid=284) (VllmWorker TP1 pid=303)
_PROCESS = re.compile(r"\(([A-Za-z][\w. :=-]*?)\s*pid=(\d+)[^()]*\)")
_PROCESSES = re.compile(rf"{_PROCESS.pattern}(?: {_PROCESS.pattern})*")
# [2025-11-30 09:00:00 DP0 TP1 EP0]
_BRACKET = re.compile(r"\[\d{4}-\d\d-\d\d[ T][\d:.,]+\s*([A-Z][A-Z0-9 ]*)?\]")
_DP = re.compile(r"(?:^|[^A-Za-z])DP(\d+)")
_TP = re.compile(r"(?:^|[^A-Za-z])TP(\d+)|\brank=(\d+)")
_PP = re.compile(r"(?:^|[^A-Za-z])PP(\d+)")
_ENGINE = re.compile(r"EngineCore_(\d+)")
# At the start, behind processes and times: a message may name a level as well (VLLM_LOGGING_LEVEL=DEBUG).
_LEVEL = re.compile(
    r"\s*(?:\([^()]*pid=\d+[^()]*\)\s*)*(?:\[?[\dTZ:.,+/-]+\]?\s+){0,3}\[?(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b"
)
# A server may print its own start arguments, keys included.
_SECRET_ARGUMENT = re.compile(
    r"""((?:api[_-]?key|hf[_-]?token|auth[_-]?token|password|secret)s?['"]?\s*[=:]\s*)(\[[^\]]*\]|'[^']*'|"[^"]*"|[^\s,)}]+)""",
    re.IGNORECASE,
)
_HARMLESS = ("None", "[]", "['']", "''", '""', "False", "null")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log, or one piece of it when a progress bar used carriage returns."""

    number: int  # counts from 1, as an editor shows it
    text: str  # without colours and control characters

    @property
    def prefix(self) -> str:
        """What stands before the message and names process and rank; empty when nothing does."""
        match = _PROCESSES.search(self.text[:200]) or _BRACKET.search(self.text[:200])
        return match.group(0) if match else ""

    @property
    def process(self) -> str:
        """Name and pid of the process, for example ``EngineCore_DP0 79``; empty when the line does not say."""
        found = _PROCESS.findall(self.prefix)
        return " ".join(found[-1]) if found else ""

    @property
    def rank(self) -> Rank:
        """The ranks that the prefix names; both of them, when a launcher (Ray) put its own in front of the engine's."""
        bracket = _BRACKET.search(self.text[:200])
        return rank_of(f"{self.prefix} {bracket.group(0)}" if bracket else self.prefix)

    @property
    def level(self) -> str | None:
        """INFO, WARNING, ERROR, ... when the line carries one."""
        match = _LEVEL.match(self.text[:200])
        return match.group(1) if match else None

    @property
    def message(self) -> str:
        """The text behind the process prefix, indentation kept (it tells a traceback's frames from its last line)."""
        match = _PROCESSES.search(self.text[:200])
        return self.text if match is None else self.text[match.end() :].removeprefix(" ")


@dataclass(frozen=True, slots=True)
class Rank:
    """Data-, tensor- and pipeline-parallel rank; None where the line does not say."""

    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None


def rank_of(prefix: str) -> Rank:
    """Read ranks out of a line prefix. ``EngineCore_1`` (vLLM up to 0.10) is data-parallel rank 1."""
    data = _DP.search(prefix) or _ENGINE.search(prefix)
    tensor = _TP.search(prefix)
    pipeline = _PP.search(prefix)
    return Rank(
        int(data.group(1)) if data else None,
        int(tensor.group(1) or tensor.group(2)) if tensor else None,
        int(pipeline.group(1)) if pipeline else None,
    )


def clean(raw: str | bytes) -> str:
    """``raw`` decoded (bad bytes replaced), without terminal escapes and control characters, cut at a sane length."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "^" in text:
        text = _CARETS.sub("", text)
    if "[0m" in text:
        text = _BARE_COLOURS.sub("", text)
    return _CONTROL.sub("", text).rstrip("\r\n")[:MAX_TEXT_CHARS]


def evidence(line: LogLine, start: int = 0) -> Evidence:
    """The line as evidence: secrets masked, cut to a readable length around ``start`` (where the match begins)."""
    text = mask(_SECRET_ARGUMENT.sub(_mask_argument, line.text))
    begin = max(0, min(start - 200, len(text) - MAX_EVIDENCE_CHARS)) if len(text) > MAX_EVIDENCE_CHARS else 0
    return Evidence(line=line.number, text=text[begin : begin + MAX_EVIDENCE_CHARS].strip())


def _mask_argument(match: re.Match[str]) -> str:
    return match.group(0) if match.group(2) in _HARMLESS else match.group(1) + MASK


def number_lines(stream: IO[bytes], *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Lines of a binary stream with their numbers. A line over the limit comes in pieces with one number."""
    number = 1
    while piece := stream.readline(max_line_bytes):
        yield number, piece
        if piece.endswith(b"\n"):
            number += 1


class LineFilter:
    """Which lines are worth a closer look, decided on raw bytes: nearly all lines of a long log are not.

    Args:
        words: a line without any of them is skipped.
        bulk: a line with one of them is skipped at once; the requests and throughput lines that make a log long.
    """

    # A long log repeats itself but for its numbers. So all digits are made alike before looking, and the shapes that
    # say nothing are remembered.
    _DIGITS = bytes.maketrans(b"123456789", b"000000000")
    _MAX_SHAPES, _MAX_SHAPE_BYTES = 4096, 1000

    def __init__(self, words: Iterable[str], bulk: Iterable[str] = ()) -> None:
        self._words = re.compile(_any_of({word.encode().translate(self._DIGITS) for word in words}))
        self._bulk = tuple(word.encode() for word in bulk)
        self._dull: set[bytes] = set()

    def wants(self, raw: bytes) -> bool:
        """Whether ``raw`` may say something. A no is sure; a yes is a reason to look."""
        for word in self._bulk:
            if word in raw:
                return False
        shape = raw.translate(self._DIGITS)
        if shape in self._dull:
            return False
        if self._words.search(shape) is not None:
            return True
        if len(shape) <= self._MAX_SHAPE_BYTES:
            if len(self._dull) >= self._MAX_SHAPES:
                self._dull.clear()
            self._dull.add(shape)
        return False


def _any_of(words: set[bytes]) -> bytes:
    """A pattern for any of ``words``, common beginnings shared: twice as fast as a plain list of alternatives."""
    groups: dict[bytes, set[bytes]] = {}
    for word in words:
        if not word:
            return b""
        groups.setdefault(word[:1], set()).add(word[1:])
    return b"(?:" + b"|".join(re.escape(head) + _any_of(tails) for head, tails in sorted(groups.items())) + b")"


def lines_with(lines: Iterable[RawLine], wants: Callable[[bytes], bool]) -> Iterator[LogLine | int]:
    """The lines that ``wants`` lets through, cleaned; at the end the number of lines read.

    A line that was redrawn with carriage returns comes as its pieces, all with the same number.
    """
    count = 0
    for item in lines:
        if isinstance(item, tuple):
            number, raw = item
        else:
            number, raw = count + 1, item if isinstance(item, bytes) else item.encode("utf-8", "replace")
        count = number
        if b"\x1b" in raw:
            raw = _ESCAPES_RAW.sub(b"", raw)
        if not wants(raw):
            continue
        if b"\r" not in raw:
            yield LogLine(number, clean(raw))
            continue
        for piece in raw.rstrip(b"\r\n").split(b"\r"):
            if wants(piece):
                yield LogLine(number, clean(piece))
    yield count
