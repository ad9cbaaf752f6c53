"""A notifier that writes what it announces into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier


class FileNotifier(BaseNotifier):
    """Adds every message to a file."""

    template_fields = ()

    def __init__(self, file: str, text: str) -> None:
        super().__init__()
        self.file, self.text = Path(file), text

    def notify(self, context: Any) -> None:
        """Write the message."""
        with self.file.open("a") as file:
            file.write(f"{self.text}\n")
