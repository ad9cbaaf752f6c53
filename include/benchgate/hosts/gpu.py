"""nvidia-smi: what to ask it, and what its answer says. Pure; who runs the command is the host's business.

What a GPU does not tell (``[N/A]``: memory of a unified-memory machine, power of a virtual GPU) is None, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.records import GpuSample

SAMPLE_FIELDS = (
    "index",
    "uuid",
    "memory.used",
    "power.draw",
    "clocks.current.sm",
    "temperature.gpu",
    "utilization.gpu",
    "clocks_event_reasons.active",
)
FACT_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used", "driver_version")
APP_FIELDS = ("gpu_uuid", "pid", "process_name", "used_memory")
# The last field was called so by drivers before 535; older ones know neither.
_OLD_REASONS = "clocks_throttle_reasons.active"
_NAMES = {"pstate": "pstate", "clocks.sm": "clocks.current.sm", _OLD_REASONS: "clocks_event_reasons.active"}
# Bits of the event reasons (NVML's nvmlClocksEventReason*). Idle and the user's own settings are reasons as well.
_REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


@dataclass(frozen=True)
class GpuFact:
    """One GPU of a host."""

    index: str | None
    uuid: str | None
    name: str | None
    memory_total_gib: float | None
    memory_used_gib: float | None
    driver: str | None


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds GPU memory."""

    gpu: str
    pid: int | None
    name: str
    memory_used_mib: float | None


def query(fields: Sequence[str], gpus: Sequence[str] = (), *, what: str = "gpu") -> list[str]:
    """The command that asks for ``fields`` of ``gpus`` (indexes or UUIDs; empty or ``all``: every one)."""
    command = ["nvidia-smi", f"--query-{what}={','.join(fields)}", "--format=csv,noheader,nounits"]
    wanted = [gpu for gpu in gpus if gpu != "all"]
    return [*command, f"--id={','.join(wanted)}"] if wanted else command


def sample_queries(gpus: Sequence[str] = ()) -> list[tuple[tuple[str, ...], list[str]]]:
    """Fields and command of one look at the GPUs, newest driver first: the next is for a driver that refuses one."""
    forms = (SAMPLE_FIELDS, (*SAMPLE_FIELDS[:-1], _OLD_REASONS), SAMPLE_FIELDS[:-1])
    return [(fields, query(fields, gpus)) for fields in forms]


def parse_samples(text: str, at: str, fields: Sequence[str] = SAMPLE_FIELDS) -> list[GpuSample]:
    """One sample a row. A header line (a recording made without ``noheader``) names the columns itself.

    Args:
        text: what nvidia-smi printed.
        at: when it was asked; a ``timestamp`` column wins.
        fields: the columns, when there is no header.
    """
    return [_sample(row, at) for row in _rows(text, fields)]


def _sample(row: dict[str, str], at: str) -> GpuSample:
    use = _number(row.get("utilization.gpu"))
    return GpuSample(
        at=row.get("timestamp") or at,
        gpu=_text(row.get("uuid")) or _text(row.get("index")) or "0",
        memory_used_mib=_number(row.get("memory.used")),
        power_w=_number(row.get("power.draw")),
        sm_clock_mhz=_number(row.get("clocks.current.sm")),
        temperature_c=_number(row.get("temperature.gpu")),
        utilization=None if use is None else use / 100,
        throttle_reasons=throttle_reasons(row.get("clocks_event_reasons.active")),
    )


def parse_facts(text: str, fields: Sequence[str] = FACT_FIELDS) -> list[GpuFact]:
    """The GPUs of a host, one a row."""
    facts = []
    for row in _rows(text, fields):
        total, used = _number(row.get("memory.total")), _number(row.get("memory.used"))
        facts.append(
            GpuFact(
                index=_text(row.get("index")),
                uuid=_text(row.get("uuid")),
                name=_text(row.get("name")),
                memory_total_gib=None if total is None else total / 1024,
                memory_used_gib=None if used is None else used / 1024,
                driver=_text(row.get("driver_version")),
            )
        )
    return facts


def parse_processes(text: str, fields: Sequence[str] = APP_FIELDS) -> list[GpuProcess]:
    """Who holds GPU memory, one a row. In a container, names and pids of other namespaces can be missing."""
    processes = []
    for row in _rows(text, fields):
        pid = _number(row.get("pid"))
        processes.append(
            GpuProcess(
                gpu=_text(row.get("gpu_uuid")) or "?",
                pid=None if pid is None else int(pid),
                name=_text(row.get("process_name")) or "?",
                memory_used_mib=_number(row.get("used_memory") or row.get("used_gpu_memory")),
            )
        )
    return processes


def cuda_version(banner: str) -> str | None:
    """The CUDA version in the heading of plain ``nvidia-smi``; None when it is not there."""
    match = re.search(r"CUDA Version: *(\d+\.\d+)", banner)
    return match.group(1) if match else None


def throttle_reasons(mask: str | None) -> str | None:
    """The reasons for lowered clocks in words, ``none`` when there are none, None when the GPU does not say."""
    text = _text(mask)
    if text is None:
        return None
    try:
        bits = int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None
    known = [name for bit, name in _REASONS.items() if bits & bit]
    rest = bits & ~sum(_REASONS)
    return ", ".join([*known, *([f"0x{rest:x}"] if rest else [])]) or "none"


def _rows(text: str, fields: Sequence[str]) -> list[dict[str, str]]:
    columns = [_NAMES.get(field, field) for field in fields]
    rows = []
    for cells in ([cell.strip() for cell in line.split(",")] for line in text.splitlines()):
        header = [_NAMES.get(name, name) for name in (re.sub(r" ?\[.*", "", cell) for cell in cells)]
        if len(header) > 1 and any(name in ("memory.used", "index", "pid", "uuid", "timestamp") for name in header):
            columns = header
        elif len(cells) == len(columns):  # anything else is a message, not a row
            rows.append(dict(zip(columns, cells, strict=True)))
    return rows


def _text(cell: str | None) -> str | None:
    if cell is None or not cell.strip() or cell.strip("[] ").upper() in ("N/A", "NOT SUPPORTED", "UNKNOWN ERROR"):
        return None
    return cell.strip()


def _number(cell: str | None) -> float | None:
    match = re.match(r"-?\d+(?:\.\d+)?", _text(cell) or "")
    return float(match.group(0)) if match else None
