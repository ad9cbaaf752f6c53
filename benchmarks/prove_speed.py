"""How fast a server log is read, and with how much memory: ``python benchmarks/prove_speed.py [MEGABYTES]``.

Three logs of that size are made as they are read, from real captures: one of requests and throughput lines (what a long
log is), one of tracebacks of harmony faults, one of lines that are all different. Printed: MB/s and the peak memory.
"""

from __future__ import annotations

import gzip
import io
import random
import resource
import string
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))
FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "engines"


def repeated(lines: list[bytes], size: int) -> Iterator[bytes]:
    """``lines`` over and over until ``size`` bytes have been given."""
    given = 0
    while given < size:
        for line in lines:
            given += len(line)
            yield line


def all_different(size: int) -> Iterator[bytes]:
    """Lines of random words: nothing can be remembered about them."""
    rng, given = random.Random(1), 0
    letters = string.ascii_lowercase + " " * 6
    while given < size:
        line = "".join(rng.choices(letters, k=150)).encode() + b"\n"
        for _ in range(20):  # making them must not be what is measured
            line = line[1:-1] + line[:1] + b"\n"
            given += len(line)
            yield line


def capture(name: str) -> list[bytes]:
    """The lines of a packed capture."""
    return io.BytesIO(gzip.decompress((FIXTURES / name).read_bytes())).readlines()


def main(megabytes: int) -> None:
    """Print one line a log."""
    from benchgate.engines import get_engine

    size = megabytes * 1_000_000
    served = capture("vllm-0.26.0-h200-gpt-oss-20b-rerun.log.gz")[110:1000]
    faults = capture("vllm-0.27.1-cpu-garbled-harmony.log.gz")[90:]
    for name, lines in (
        ("requests and throughput", repeated(served, size)),
        ("harmony tracebacks", repeated(faults, size)),
        ("all lines different", all_different(size)),
    ):
        began = time.perf_counter()
        facts = get_engine("vllm").parse_log(lines)
        took = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name:24} {megabytes / took:7.1f} MB/s  {facts.lines:9} lines  {took:6.2f} s  peak {peak:.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
