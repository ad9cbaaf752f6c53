"""Wall clocks that a test sets: of the machine that runs the stack, and of the one at the site.

Containers have no clock of their own, and setting this machine's would set everybody's. So their processes load a small
library that moves what they read (``shifted_clock.c``).
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

CENTER, SITE = MACHINES = ("center", "site")
SOURCE = Path(__file__).with_name("shifted_clock.c")


class Clocks:
    """The clocks of both machines; they are right until one is set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        shutil.copy(SOURCE, folder)
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", folder / "shifted_clock.so", SOURCE],
            check=True,
        )
        for machine in MACHINES:
            (folder / machine).write_bytes(bytes(8))

    def set(self, machine: str, hours: float) -> None:
        """Let the clock of a machine be so far ahead (below 0: behind)."""
        with (self.folder / machine).open("r+b") as file:  # in place: running processes have this file in memory
            file.write(struct.pack("=q", round(hours * 3600e9)))

    def service(self, machine: str) -> dict[str, Any]:
        """What a service of compose needs to have the clock of a machine."""
        return {
            "environment": {"LD_PRELOAD": "/clock/shifted_clock.so", "SHIFTED_CLOCK": f"/clock/{machine}"},
            "volumes": [f"{self.folder}:/clock:ro"],
        }
