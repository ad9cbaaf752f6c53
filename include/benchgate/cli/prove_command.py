"""``benchgate prove --engine ENGINE LOGFILE``: what a server's log proves, and why the server died if it did."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from benchgate.engines import ENGINE_NAMES, get_engine
from benchgate.engines.base import Engine, LogFacts
from benchgate.engines.log_reader import number_lines
from benchgate.errors import BenchgateError
from benchgate.records import Evidence, ExitInfo, Failure

# The keys that are always there, null where the log does not say; further proofs follow under ``more``.
KEYS = (
    "engine_version",
    "moe_kernel",
    "attention_backend",
    "kv_tokens",
    "kv_meaning",
    "max_concurrency",
    "weights_gib",
    "load_seconds",
    "graph_capture_seconds",
    "init_seconds",
    "memory_reserved_gib",
)
_GZIP = b"\x1f\x8b"
# What a log is not, by its first bytes: said instead of a page of "unknown".
_NO_LOGS = {
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it first",
    b"\xfd7zXZ": "packed with xz: unpack it first",
    b"BZh": "packed with bzip2: unpack it first",
    b"PK\x03\x04": "a zip file: unpack it first",
    b"\x7fELF": "a program",
}
_HEAD_BYTES = 4096
_EPILOG = """exit codes: 0: the log was read, whatever it says (one in which no line is the engine's is read as well: a
warning on stderr and among the warnings says so, and "recognised" is false in --json); 1: it cannot be read (no such
file, a folder, no permission); 2: an argument is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = _EPILOG
    parser.add_argument("logfile", help="the server's log (stdout and stderr together); .gz is read, - is stdin")
    parser.add_argument("--engine", required=True, choices=ENGINE_NAMES, help="the engine that wrote it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines for a reader")
    parser.add_argument(
        "--exit-code", type=_exit_code, metavar="N", help="how the server ended, if it did (0 to 255; -N: signal N)"
    )
    parser.add_argument("--signal", type=_signal, metavar="NAME", help="the signal that ended it: SIGKILL, KILL or 9")
    parser.add_argument("--oom-killed", action="store_true", help="the container was OOMKilled")
    parser.add_argument("--timed-out", action="store_true", help="the server was given up on before it was ready")


def run(args: argparse.Namespace) -> int:
    """Print what the log proves. Exit code 0, whatever the log says; a log that cannot be read is an error."""
    engine = get_engine(args.engine)
    with _opened(args.logfile) as (head, stream):
        facts = engine.parse_log(_to_the_end(args.logfile, stream))
    if not recognised(facts):
        doubt = _doubt(args.logfile, args.engine, head, facts)
        print(f"warning: {args.logfile}: {doubt}", file=sys.stderr)
        facts.warnings.append(Evidence(line=None, text=doubt))
    failure = _failure(engine, facts, args)
    if args.json:
        print(json.dumps(as_json(facts, failure), indent=2, ensure_ascii=False))
    else:
        print("\n".join(as_text(facts, failure)))
    return 0


def recognised(facts: LogFacts) -> bool:
    """Whether any line of the log was one of the engine's that says something."""
    return facts.ready or facts.failure is not None or bool(facts.proofs)


def _doubt(name: str, engine: str, head: bytes, facts: LogFacts) -> str:
    """Why nothing was found: empty, no text, or another engine's log."""
    if not head.strip():
        return "the log is empty: nothing is proven"
    for magic, what in _NO_LOGS.items():
        if head.startswith(magic):
            return f"this is no log but {what}: nothing is proven"
    if b"\0" in head:
        return "this is no text (it has NUL bytes): nothing is proven"
    for other in ENGINE_NAMES:
        if name == "-" or other == engine:
            continue
        with _opened(name) as (_, stream), contextlib.suppress(OSError, EOFError, zlib.error):
            if recognised(get_engine(other).parse_log(number_lines(stream))):
                return f"no line is {engine}'s, but some are {other}'s: try --engine {other}"
    return f"none of its {facts.lines} lines is one of {engine}'s that Benchgate knows: nothing is proven"


def _exit_code(text: str) -> int:
    try:
        code = int(text)
    except ValueError:
        code = 256
    if not -64 <= code <= 255:
        raise argparse.ArgumentTypeError(f"{text!r} is no exit code: 0 to 255, or -N for signal N")
    return code


def _signal(text: str) -> str:
    """The signal's name: ``SIGKILL``, ``kill`` and ``9`` are the same."""
    name = text.strip().upper()
    if name.isdigit() and int(name) in {int(known) for known in signal.Signals}:
        return signal.Signals(int(name)).name
    name = name if name.startswith("SIG") else f"SIG{name}"
    if name not in signal.Signals.__members__:
        raise argparse.ArgumentTypeError(f"{text!r} is no signal: SIGKILL, SIGTERM, SIGSEGV, SIGBUS, ...")
    return name


def as_json(facts: LogFacts, failure: Failure | None) -> dict[str, object]:
    """The facts as one flat object: the fixed keys, then ``more`` for every other proof, then where each was read."""
    proofs = {name: proof for name, proof in facts.proofs.items() if name != "ready"}
    lines = {name: proof.evidence for name, proof in facts.proofs.items()}
    if failure is not None and failure.evidence is not None:
        lines["failure_kind"] = failure.evidence
    return {
        **{key: proofs[key].value if key in proofs else None for key in KEYS},
        "ready": facts.ready,
        "recognised": recognised(facts),
        "failure_kind": failure.kind.value if failure else None,
        "failure_reason": failure.reason if failure else None,
        "warnings": [_where(warning) for warning in facts.warnings],
        "evidence": {name: {"line": found.line, "text": found.text} for name, found in lines.items()},
        "more": {name: proof.value for name, proof in proofs.items() if name not in KEYS},
        "lines": facts.lines,
    }


def as_text(facts: LogFacts, failure: Failure | None) -> Iterator[str]:
    """The facts for a reader: one a line, with the log's own line beside it."""
    names = [*KEYS, *(name for name in facts.proofs if name not in KEYS and name != "ready")]
    for name in names:
        proof = facts.proofs.get(name)
        if proof is None:
            yield f"{name:24} unknown"
        else:
            yield f"{name:24} {proof.value!s:24} {_where(proof.evidence)[:200]}"
    yield f"{'ready':24} {'yes' if facts.ready else 'no'}"
    if failure is not None:
        yield f"{'failure':24} {failure.kind.value}: {failure.reason}"
        if failure.evidence is not None:
            yield f"{'root cause':24} {_where(failure.evidence)}"
    for warning in facts.warnings:
        yield f"{'warning':24} {_where(warning)}"


def _where(found: Evidence) -> str:
    return found.text if found.line is None else f"line {found.line}: {found.text}"


def _failure(engine: Engine, facts: LogFacts, args: argparse.Namespace) -> Failure | None:
    """The log's own root cause; weighed with how the server ended when that is told, or when it never was ready."""
    ended = args.exit_code is not None or args.signal or args.oom_killed or args.timed_out
    if not ended:
        return facts.failure
    exit_info = ExitInfo(exit_code=args.exit_code, signal=args.signal, oom_killed=args.oom_killed or None)
    if facts.ready and facts.failure is None and args.exit_code == 0 and not args.oom_killed:
        return None
    return engine.failure(facts, exit_info, timed_out=args.timed_out)


def _to_the_end(name: str, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The numbered lines. A file that breaks off (a gzip that was cut) is read as far as it goes, and said so."""
    try:
        yield from number_lines(stream)
    except (OSError, EOFError, zlib.error) as error:
        print(f"warning: {name}: read only as far as it goes: {error}", file=sys.stderr)


@contextlib.contextmanager
def _opened(name: str) -> Iterator[tuple[bytes, IO[bytes]]]:
    """The log's first bytes and the log as a binary stream, unpacked if it is a gzip file whatever its name.

    Raises:
        BenchgateError: there is no such file, or it cannot be opened.
    """
    if name == "-":
        stdin = sys.stdin.buffer
        yield stdin.peek(_HEAD_BYTES) if isinstance(stdin, io.BufferedReader) else b"?", stdin
        return
    path = Path(name)
    try:
        with path.open("rb") as raw:
            head = raw.read(_HEAD_BYTES)
            raw.seek(0)
            with gzip.open(raw) if head.startswith(_GZIP) else contextlib.nullcontext(raw) as stream:
                yield _head(path) if head.startswith(_GZIP) else head, cast(IO[bytes], stream)
    except (FileNotFoundError, IsADirectoryError, PermissionError, NotADirectoryError) as error:
        raise BenchgateError(f"{name}: {error.strerror}", remedy="give the path of a server's log") from error


def _head(path: Path) -> bytes:
    """The first unpacked bytes of a gzip file; "?" when it is damaged from its start on: reading it says so."""
    try:
        with gzip.open(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b"?"
