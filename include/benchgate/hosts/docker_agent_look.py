"""Runs inside a helper container that shares the host's IPC and process namespaces: a look at the machine, as JSON.

Standard library only; its source is passed to the container's Python. With arguments it removes the named segments of
/dev/shm that nobody uses any more, and prints which.
"""

import json
import os
import re
import sys
from pathlib import Path

PROC = Path("/proc")
SHM = Path("/dev/shm")  # noqa: S108 - the host's shared memory is what this is about
CONTAINER = re.compile(r"[0-9a-f]{64}")


def fields(text: str) -> "dict[str, str]":
    """``name: value`` lines; of repeated names the first counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def segments_of(pid: Path, shm: Path) -> "set[str]":
    """Names below ``shm`` that one process has mapped or open."""
    prefix = f"{shm}/"
    used: set[str] = set()
    for line in (pid / "maps").read_text(errors="replace").splitlines():
        if prefix in line:
            used.add(line.partition(prefix)[2].strip())
    for descriptor in (pid / "fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue  # it was closed while we looked
        if target.startswith(prefix):
            used.add(target[len(prefix) :])
    return used


def holders(proc: Path, shm: Path) -> "tuple[dict[str, set[str]], int]":
    """Who holds each segment: container ids, or ``pid N`` outside of containers; and how many were not readable."""
    found: dict[str, set[str]] = {}
    blind = 0
    for pid in (entry for entry in proc.iterdir() if entry.name.isdigit()):
        try:
            names = segments_of(pid, shm)
            if names:
                container = CONTAINER.search((pid / "cgroup").read_text())
                holder = container.group() if container else f"pid {pid.name}"
                for name in names:
                    found.setdefault(name, set()).add(holder)
        except PermissionError:
            blind += 1
        except OSError:
            continue  # it ended while we looked
    return found, blind


def segments(shm: Path, held: "dict[str, set[str]]") -> "list[dict[str, object]]":
    """Every file below ``shm`` with the memory that it really takes."""
    found: list[dict[str, object]] = []
    for path in sorted(shm.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        if not path.is_dir():
            name = str(path.relative_to(shm))
            holder = sorted(held.get(name, ()))
            found.append({"name": name, "bytes": stat.st_blocks * 512, "uid": stat.st_uid, "holders": holder})
    return found


def remove(shm: Path, names: "list[str]", held: "dict[str, set[str]]") -> "list[str]":
    """Remove those of ``names`` that nobody holds; returns what went."""
    gone = []
    for name in names:
        path = shm / name
        if name in held or ".." in path.parts or path.is_symlink() or not path.is_file():
            continue
        path.unlink()
        gone.append(name)
    return gone


def main(names: "list[str]") -> None:
    """Print what was seen. Sizes in bytes."""
    held, blind = holders(PROC, SHM)
    if names:
        json.dump({"removed": remove(SHM, names, held)}, sys.stdout)
        return
    memory = fields((PROC / "meminfo").read_text())
    kib = {name: int(value.split()[0]) for name, value in memory.items() if value[:1].isdigit()}
    cpu = fields((PROC / "cpuinfo").read_text(errors="replace"))
    shm, disk = os.statvfs(SHM), os.statvfs("/")
    json.dump(
        {
            "memory_total": kib["MemTotal"] * 1024 if "MemTotal" in kib else None,
            "memory_available": kib["MemAvailable"] * 1024 if "MemAvailable" in kib else None,
            "cpu_model": cpu.get("model name"),
            "shm_total": shm.f_blocks * shm.f_frsize,
            "shm_free": shm.f_bavail * shm.f_frsize,
            "disk_free": disk.f_bavail * disk.f_frsize,
            "segments": segments(SHM, held),
            "blind": blind,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
