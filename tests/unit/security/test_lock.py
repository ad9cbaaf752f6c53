"""What is installed is what was locked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCKS = sorted(path for path in [ROOT / "requirements.txt", *(ROOT / "include" / "images").rglob("requirements*.txt")])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_locked_package_has_its_hashes(lock: Path) -> None:
    lines = re.sub(r"\\\n\s*", " ", lock.read_text()).splitlines()
    packages = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    assert packages
    for line in packages:
        assert re.match(r"[a-zA-Z0-9._-]+(\[[\w,-]+\])?==[^\s;]+", line), line
        assert "--hash=sha256:" in line, line.split(" ")[0]


def test_nothing_is_installed_without_its_hash() -> None:
    files = [ROOT / "Makefile", *(path for path in (ROOT / "include" / "images").rglob("Dockerfile*"))]
    files.append(ROOT / "docs" / "kubernetes" / "Dockerfile")
    for file in files:
        text = re.sub(r"\\\n\s*", " ", file.read_text())
        for line in text.splitlines():
            if re.search(r"pip install|pip3 install", line) and "--editable" not in line and "help" not in line:
                assert "--require-hashes" in line or "--no-deps" in line, f"{file.name}: {line.strip()[:150]}"
