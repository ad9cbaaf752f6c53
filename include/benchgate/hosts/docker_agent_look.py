"""Runs inside a helper container that shares the host's IPC and process namespaces: a look at the machine, as JSON.

Standard library only; its source is passed to the container's Python.
"""

import json
import os
import sys
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")  # noqa: S108 - it is only looked at


def fields(text: str) -> "dict[str, str]":
    """``name: value`` lines; of repeated names the first counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def segments_in_use(proc: Path, shm: Path) -> "tuple[set[str], int]":
    """Names below ``shm`` that some process has mapped or open, and how many processes could not be looked into."""
    used: set[str] = set()
    blind = 0
    prefix = f"{shm}/"
    for pid in (entry for entry in proc.iterdir() if entry.name.isdigit()):
        try:
            for line in (pid / "maps").read_text(errors="replace").splitlines():
                if prefix in line:
                    used.add(line.partition(prefix)[2].strip())
            for descriptor in (pid / "fd").iterdir():
                target = str(descriptor.readlink())
                if target.startswith(prefix):
                    used.add(target[len(prefix) :])
        except PermissionError:
            blind += 1
        except OSError:
            continue  # it ended while we looked
    return used, blind


def segments(shm: Path, used: "set[str]") -> "list[dict[str, object]]":
    """Every file below ``shm`` with the memory that it really takes."""
    found: list[dict[str, object]] = []
    for path in sorted(shm.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        if not path.is_dir():
            name = str(path.relative_to(shm))
            found.append({"name": name, "bytes": stat.st_blocks * 512, "uid": stat.st_uid, "used": name in used})
    return found


def main() -> None:
    """Print what was seen. Sizes in bytes."""
    memory = fields((PROC / "meminfo").read_text())
    kib = {name: int(value.split()[0]) for name, value in memory.items() if value[:1].isdigit()}
    cpu = fields((PROC / "cpuinfo").read_text(errors="replace"))
    used, blind = segments_in_use(PROC, SHM)
    shm, disk = os.statvfs(SHM), os.statvfs("/")
    json.dump(
        {
            "memory_total": kib["MemTotal"] * 1024 if "MemTotal" in kib else None,
            "memory_available": kib["MemAvailable"] * 1024 if "MemAvailable" in kib else None,
            "cpu_model": cpu.get("model name"),
            "shm_total": shm.f_blocks * shm.f_frsize,
            "shm_free": shm.f_bavail * shm.f_frsize,
            "disk_free": disk.f_bavail * disk.f_frsize,
            "segments": segments(SHM, used),
            "blind": blind,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
