"""Runs inside a helper container with every mount of a server at ``/seeds/0``, ``/seeds/1``, ..: is each one whole?

Standard library only; its source is passed to the container's Python. Prints a JSON list with one entry a mount:
``files`` (how many there are, at least), ``checked`` (how many the manifest of a filled volume lists) and ``wrong``
(which of those are gone or have another size).
"""

import json
import sys
from pathlib import Path

ENOUGH = 1000  # files counted; more makes no difference


def check(mount: Path) -> "dict[str, object]":
    """One mount, which may be a single file."""
    if mount.is_file():
        return {"files": 1, "checked": 0, "wrong": []}
    files = 0
    for path in mount.rglob("*"):
        if path.is_file() and path.relative_to(mount).parts[0] != ".benchgate":
            files += 1
            if files >= ENOUGH:
                break
    try:
        manifest = json.loads((mount / ".benchgate" / "manifest.json").read_text())
    except (OSError, ValueError):
        return {"files": files, "checked": 0, "wrong": []}
    wrong = []
    for name, entry in sorted(manifest.items()):
        path = mount / name
        if not path.is_file() or path.stat().st_size != entry["size"]:
            wrong.append(name)
    return {"files": files, "checked": len(manifest), "wrong": wrong}


def main() -> None:
    """Print the answers in the order of the mounts."""
    mounts = sorted(Path("/seeds").iterdir(), key=lambda path: int(path.name))
    json.dump([check(mount) for mount in mounts], sys.stdout)


if __name__ == "__main__":
    main()
