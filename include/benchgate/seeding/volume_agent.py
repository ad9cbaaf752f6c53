"""Runs inside a helper container that has a seed volume at ``/seed``: what is there, and the last step of a fill.

Standard library only; its source is passed to the container's Python. Commands:

``state``   prints the volume's manifest, and the sha256s of complete files that wait in the staging folder, as JSON.
``commit NAME``  reads the wanted manifest ``NAME`` from the staging folder, puts every file that is still missing in
            its place with a rename, and writes the manifest last. Prints the paths that could not be put in place.

Layout: files at their own paths; ``.benchgate/manifest.json`` says which of them are whole; ``.benchgate/in`` is where
files arrive as ``SHA256.SIZE.TOKEN.up`` and lie as ``SHA256`` once they were verified. A file is visible under its own
path only after that.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from pathlib import Path

SEED = Path("/seed")
HOME = ".benchgate"
ABANDONED_S = 24 * 3600.0  # an upload that nobody has written to for this long


def digest(path: Path) -> str:
    """sha256 of a file in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    return found.hexdigest()


def read_manifest(seed: Path) -> "dict[str, dict[str, object]]":
    """What the volume holds, whole: path -> size and sha256. Entries whose file is gone or cut are left out."""
    try:
        entries = json.loads((seed / HOME / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}
    whole = {}
    for path, entry in entries.items():
        with contextlib.suppress(OSError):
            if (seed / path).stat().st_size == entry["size"]:
                whole[path] = entry
    return whole


def verify_arrivals(seed: Path) -> "set[str]":
    """The sha256s that lie verified in the staging folder. Uploads that are complete become so; others are left alone.

    An incomplete upload may be somebody's who is still sending; it goes when nobody has written to it for a day.
    """
    staging = seed / HOME / "in"
    staging.mkdir(parents=True, exist_ok=True)
    for path in sorted(staging.glob("*.up")):
        sha256, size = path.name.split(".")[:2]
        with contextlib.suppress(OSError):
            stat = path.stat()
            if stat.st_size == int(size) and digest(path) == sha256:
                path.replace(staging / sha256)
            elif time.time() - stat.st_ctime > ABANDONED_S:
                path.unlink()
    return {path.name for path in staging.iterdir() if "." not in path.name}


def commit(seed: Path, wanted: "dict[str, dict[str, object]]") -> "list[str]":
    """Put verified files in their places and write the manifest; returns the paths that are still missing."""
    have = read_manifest(seed)
    good = verify_arrivals(seed)
    missing = []
    for path, entry in sorted(wanted.items()):
        if have.get(path) == entry:
            continue
        sha256 = str(entry["sha256"])
        if sha256 not in good:
            missing.append(path)
            continue
        target = seed / path
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(target.name + ".benchgate-part")
        aside.unlink(missing_ok=True)
        os.link(seed / HOME / "in" / sha256, aside)  # not moved: two paths may have the same content
        aside.chmod(0o644)
        aside.replace(target)
        have[path] = entry
    manifest = seed / HOME / "manifest.json"
    aside = manifest.with_name("manifest.json.part")
    aside.write_text(json.dumps(have, indent=1, sort_keys=True))
    aside.replace(manifest)
    for sha256 in {str(entry["sha256"]) for path, entry in wanted.items() if path not in missing}:
        (seed / HOME / "in" / sha256).unlink(missing_ok=True)
    return missing


def main(command: str, name: str = "") -> None:
    """Run one command and print its answer as JSON."""
    (SEED / HOME / "in").mkdir(parents=True, exist_ok=True)
    with (SEED / HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two fills of one volume: one after the other; freed when this ends
        if command == "state":
            answer = {"manifest": read_manifest(SEED), "arrived": sorted(verify_arrivals(SEED))}
        else:
            plan = SEED / HOME / "in" / name
            answer = {"missing": commit(SEED, json.loads(plan.read_text()))}
            plan.unlink()
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
