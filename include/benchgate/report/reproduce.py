"""reproduce.md: the exact commands behind a run, so that somebody else can repeat it without asking."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby

from benchgate.report.model import LaunchRow, LedgerRow, RunReport
from benchgate.report.tables import escape_markdown


def to_reproduce(report: RunReport, client_commands: Mapping[str, Sequence[str]]) -> str:
    """The file's text. ``client_commands`` maps a cell key to the load generator's arguments.

    Secrets are not in it: commands come masked from the warehouse, and environment variables by name only.
    """
    header = report.header
    parts = [
        f"# How to repeat {escape_markdown(header.campaign)}, run {escape_markdown(header.run)}",
        f"Measured with Benchgate {header.benchgate_version} on {header.started_at}.",
        "## All of it",
        "Save the campaign file below and run it; the hosts file must name the same placements.",
        _fence("sh", shell(["python", "-m", "benchgate", "run", "campaign.yaml", *_image(report)])),
        _fence("yaml", header.campaign_yaml.rstrip("\n")) if header.campaign_yaml else "(imported: no campaign file)",
        "## What was in place",
        _seeds(report),
        "## Servers",
        "Paths are those of the hosts that ran it. `PORT` is any free port.",
        *(_launch(launch) for launch in report.launches),
        "## Load",
        "`SERVER` is the address at which the server of the launch answers, such as `127.0.0.1:8000`; `--output DIR` "
        "keeps the results.",
        *_cells(report, client_commands),
    ]
    return "\n\n".join(parts) + "\n"


def _image(report: RunReport) -> list[str]:
    """The image by its digest, where all launches ran one: a tag is another image tomorrow."""
    digests = {launch.image_digest for launch in report.launches if launch.image}
    [digest] = digests if len(digests) == 1 else [None]
    return ["--image", digest] if digest and "@" in digest else []


def _fence(language: str, text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _seeds(report: RunReport) -> str:
    lines = [
        f"- {seed.kind} {escape_markdown(seed.name)} on {escape_markdown(seed.host)}: "
        f"{escape_markdown(seed.digest or 'digest unknown')}, from {escape_markdown(seed.source)}"
        for seed in report.seeds
    ]
    return "\n".join(lines) or "Nothing was seeded, or the run does not say."


def _launch(launch: LaunchRow) -> str:
    facts = [
        f"engine {launch.engine or 'unknown'} {launch.engine_version or ''}".rstrip(),
        f"image {launch.image_digest or launch.image}" if launch.image or launch.image_digest else "no image",
        f"model {launch.model_id or 'unknown'} at {launch.model_revision or 'unknown revision'}",
        f"fingerprint {launch.fingerprint or 'incomplete'}",
        *(f"{name} {value}" for name, value in launch.machine.items() if name in ("gpu_model", "driver", "cpu_model")),
    ]
    text = f"### {escape_markdown(launch.launch)}\n\n" + "\n".join(f"- {escape_markdown(fact)}" for fact in facts)
    if launch.environment_names:
        text += f"\n- environment: {escape_markdown(', '.join(launch.environment_names))}"
    words = [word.replace("{port}", "PORT") for word in launch.command]
    if launch.image is not None:
        place = f"{launch.host}/{launch.placement}"
        by_hand = ["python", "-m", "benchgate", "command", "campaign.yaml", "--arm", launch.arm, "--placement", place]
        text += f"\n\nThe `docker run` with the paths of its host:\n\n{_fence('sh', shell(by_hand))}"
    if not words:
        return f"{text}\n\nIts command is not known: {escape_markdown(launch.failure_reason or launch.end_state)}."
    if launch.image is not None:
        return f"{text}\n\nWhat ran in the container:\n\n{_fence('text', shell(words))}"
    return f"{text}\n\n{_fence('sh', shell(words))}"


def shell(words: Sequence[str]) -> str:
    """A command for a shell, one flag a line."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--") and lines[-1]:
            lines.append([])
        lines[-1].append(_quoted(word))
    return " \\\n  ".join(" ".join(line) for line in lines)


def _quoted(word: str) -> str:
    """A word for bash. What does not print is written out, so that no argument can drive the reader's terminal."""
    if word.isprintable():
        return shlex.quote(word)
    shown = (c if c.isprintable() and c not in "\\'" else f"\\U{ord(c):08x}" for c in word)
    return f"$'{''.join(shown)}'"


def _cells(report: RunReport, client_commands: Mapping[str, Sequence[str]]) -> list[str]:
    """Commands by workload and load; arms and placements share them, so each is shown once, with what it measured."""
    known = [row for row in report.ledger if row.cell in client_commands]
    parts = []
    order = sorted(known, key=lambda row: (row.workload, row.users or 0, row.request_rate or 0.0, row.repeat))
    for command, rows in groupby(order, key=lambda row: tuple(client_commands[row.cell])):
        parts.append(f"{_whose(list(rows))}\n\n{_fence('sh', shell(['python', '-m', 'benchgate', *command]))}")
    return parts or ["The campaign file of this run is not known, so the load cannot be written as commands."]


def _whose(rows: Sequence[LedgerRow]) -> str:
    """The cells that a command measured, and those for which it was only planned, with the reason."""
    measured = dict.fromkeys(row.cell for row in rows if row.measured)
    never = {row.cell: row.reason or row.end_state for row in rows if not row.measured}
    lines = [f"{escape_markdown(', '.join(measured))}:"] if measured else []
    for reason in dict.fromkeys(never.values()):
        cells = ", ".join(cell for cell, why in never.items() if why == reason)
        lines.append(f"Planned and never measured in this run ({escape_markdown(reason)}): {escape_markdown(cells)}")
    return "\n\n".join(lines)
