"""Runs inside a helper container with a folder or file of the host at ``/seed``: what is in it, by content.

Standard library only; its source is passed to the container's Python. Its one argument is what was read before, as
JSON: path -> [size, time of last change in ns, sha256]; such a file is not read again while both stay the same. Prints
the same mapping for what is there now, or ``{"unreadable": [path, reason]}``.
"""

import hashlib
import json
import sys
from pathlib import Path

SEED = Path("/seed")


def digest(path: Path) -> str:
    """sha256 of a file in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            found.update(block)
    return found.hexdigest()


def read(seed: Path, known: "dict[str, list[object]]") -> "dict[str, list[object]]":
    """Every file below ``seed`` (or ``seed`` itself, under the name ``.``)."""
    found = {}
    for path in sorted(seed.rglob("*")) if seed.is_dir() else [seed]:
        if path.is_symlink() and not path.exists():  # a hub cache's snapshot, mounted without its blobs
            raise OSError(0, "a link that leads out of what is mounted; give the folder that holds both", str(path))
        if not path.is_file():
            continue
        relpath = path.relative_to(seed).as_posix()
        stat = path.stat()
        before = known.get(relpath)
        if before is not None and before[:2] == [stat.st_size, stat.st_mtime_ns]:
            found[relpath] = before
        else:
            found[relpath] = [stat.st_size, stat.st_mtime_ns, digest(path)]
    return found


def main() -> None:
    """Print what is there."""
    try:
        json.dump(read(SEED, json.loads(sys.argv[1])), sys.stdout)
    except OSError as error:
        json.dump({"unreadable": [str(error.filename), error.strerror]}, sys.stdout)


if __name__ == "__main__":
    main()
