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


def host_facts(name: str) -> HostFacts:
    """Facts of this machine now. What it does not say is None."""
    import psutil

    memory = psutil.virtual_memory()
    gpus = list_gpus()
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
        gpu_model=first.name if first else None,
        gpu_count=len(gpus) if gpus else None,
        gpu_memory_gib=round(first.memory_total_gib, 2) if first and first.memory_total_gib else None,
        driver=first.driver if first else None,
        cuda=gpu.cuda_version(nvidia_smi(["nvidia-smi"])) if gpus else None,
    )


def list_gpus() -> list[gpu.GpuFact]:
    """All GPUs of this machine; empty where nvidia-smi is missing or does not answer."""
    return gpu.parse_facts(nvidia_smi(gpu.query(gpu.FACT_FIELDS)))


def gpu_samples(gpus: Sequence[str]) -> list[GpuSample]:
    """These GPUs (indexes or UUIDs) at this moment; empty where nvidia-smi is missing or does not answer."""
    at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    for fields, command in gpu.sample_queries(gpus):
        if rows := gpu.parse_samples(nvidia_smi(command), at, fields):
            return rows
    return []


def nvidia_smi(command: Sequence[str]) -> str:
    """What a command of :mod:`benchgate.hosts.gpu` prints; empty where there is no such program, or it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout if result.returncode == 0 else ""


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
