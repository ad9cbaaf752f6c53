"""What this machine is: CPU, memory, kernel, GPUs."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from benchgate.hosts import gpu
from benchgate.records import GpuSample, HostFacts

GIB = 2**30
_GPU_QUERY = "--query-gpu=index,uuid,name,memory.total,driver_version"


def host_facts(name: str) -> HostFacts:
    """Facts of this machine now. What it does not say is None."""
    import psutil

    memory = psutil.virtual_memory()
    gpus = nvidia_smi(_GPU_QUERY)
    first = gpus[0] if gpus else None
    return HostFacts(
        host=name,
        kind="process",
        os=_os_name(),
        kernel=platform.release(),
        cpu_model=_cpu_model(),
        cpu_count=psutil.cpu_count(),
        memory_gib=round(memory.total / GIB, 2),
        free_memory_gib=round(memory.available / GIB, 2),
        gpu_model=first[2] if first else None,
        gpu_count=len(gpus) if gpus else None,
        gpu_memory_gib=round(float(first[3]) / 1024, 2) if first and first[3].isdigit() else None,
        driver=first[4] if first else None,
    )


def gpu_samples(gpus: Sequence[str]) -> list[GpuSample]:
    """These GPUs (indexes or UUIDs) at this moment; empty where nvidia-smi is missing or does not answer."""
    at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    for fields, command in gpu.sample_queries(gpus):
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return []
        rows = gpu.parse_samples(result.stdout, at, fields)
        if result.returncode == 0 and rows:
            return rows
    return []


def nvidia_smi(query: str) -> list[list[str]]:
    """Rows of ``nvidia-smi QUERY`` in plain CSV; empty where there is no such command, no GPU, or no answer."""
    try:
        result = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if result.returncode != 0:
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in result.stdout.splitlines() if line.strip()]
    return [row for row in rows if len(row) == query.count(",") + 1]


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return platform.system() or None


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
