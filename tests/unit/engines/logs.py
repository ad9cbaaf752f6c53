"""Short logs for tests: real captures by name, and lines of other versions."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

from benchgate.engines import get_engine
from benchgate.engines.base import LogFacts

FIXTURES = Path(__file__).parents[2] / "fixtures" / "engines"


def capture(name: str) -> list[bytes]:
    """The lines of a packed capture."""
    return io.BytesIO(gzip.decompress((FIXTURES / f"{name}.gz").read_bytes())).readlines()


def vllm(*lines: str) -> LogFacts:
    """What vLLM's adapter reads out of ``lines``."""
    return get_engine("vllm").parse_log(lines)


def sglang(*lines: str) -> LogFacts:
    """What SGLang's adapter reads out of ``lines``."""
    return get_engine("sglang").parse_log(lines)


def value(facts: LogFacts, name: str) -> object:
    """A proof's value, or None when the log does not say."""
    proof = facts.proofs.get(name)
    return None if proof is None else proof.value
