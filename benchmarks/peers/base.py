"""The interface of a client under comparison."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.reference_server.truth import RequestTruth


class PeerError(Exception):
    """A client cannot be installed, or left no result."""


@dataclass(frozen=True)
class Load:
    """A closed loop. ``folder`` holds the prompts in every client's format, and the tokenizer."""

    streams: int
    requests: int
    max_tokens: int
    folder: Path
    base_url: str
    model: str = "simulated"


@dataclass
class Row:
    """What a client counted for one request."""

    ok: bool
    tokens: int | None = None
    ttft_ms: float | None = None
    note: str = ""


@dataclass
class Reading:
    """What a client reported. Times in ms; None where it reports no such number."""

    completed: int
    errors: int | None
    ttft_p50_ms: float | None
    ttft_p99_ms: float | None
    tpot_p50_ms: float | None
    output_tok_s: float | None
    said: str = ""  # a verdict of its own, e.g. client_bound
    rows: dict[int, Row] = field(default_factory=dict)  # by position of the prompt in the file
    rows_by_id: dict[str, Row] = field(default_factory=dict)  # by the x-request-id that the client sent


class Client:
    """One client. Its environment is a folder of its own under the cache; nothing is installed into ours."""

    name = ""
    distribution = ""
    requirements: tuple[str, ...] = ()
    python = "3.11"
    endpoint = "chat"

    def __init__(self, cache: Path) -> None:
        self.venv = cache / self.name

    @property
    def python_path(self) -> Path:
        """Interpreter of its environment."""
        return self.venv / "bin" / "python"

    def installed(self) -> str | None:
        """Its version, or None."""
        code = f"from importlib.metadata import version; print(version({self.distribution!r}))"
        if not self.python_path.exists():
            return None
        done = subprocess.run([str(self.python_path), "-c", code], capture_output=True, text=True, check=False)
        return done.stdout.strip() or None

    def install(self) -> None:
        """Create its environment. Uses uv; set UV_FIND_LINKS for wheels that the index lacks.

        Raises:
            PeerError: uv is missing or refuses, e.g. because it neither finds this version of Python nor may load it.
        """
        if shutil.which("uv") is None:
            raise PeerError("uv is needed to create the environments: pip install uv")
        for command in (
            ["uv", "venv", "--quiet", "--python", self.python, str(self.venv)],
            ["uv", "pip", "install", "--quiet", "--python", str(self.python_path), *self.requirements],
        ):
            if subprocess.run(command, check=False).returncode:
                raise PeerError(
                    f"{self.name}: {' '.join(command)} failed; it needs Python {self.python} (on the PATH, or "
                    "loaded by uv) and the package index"
                )

    def command(self, load: Load, out: Path) -> list[str]:
        """The command line for a load; results go to ``out``. Each client has its own, so there is none here."""
        raise NotImplementedError

    def patience(self) -> list[str]:
        """More arguments where streams may never end; most clients have no limit to set."""
        return []

    def row_of(self, number: int, sent: Sequence[RequestTruth], reading: Reading) -> Row | None:
        """What it counted for the prompt at a position. ``sent``: the requests that the server got for it."""
        del sent
        return reading.rows.get(number)

    def environment(self) -> dict[str, str]:
        """The environment that it runs in: offline, quiet."""
        return {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PATH": f"{self.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        }

    def read(self, out: Path) -> Reading:
        """What it reported. Each client has its own result files, so there is nothing to read here.

        Raises:
            PeerError: it left no result.
        """
        raise NotImplementedError


def current_python() -> str:
    """The interpreter that runs this comparison."""
    return sys.executable


def ms(seconds: object) -> float | None:
    """Seconds as ms; None stays None."""
    return float(seconds) * 1000 if isinstance(seconds, (int, float)) else None
