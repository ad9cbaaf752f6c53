"""``make env``: write .env with fresh secrets for docker-compose.yaml, and a password for the first user."""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
from pathlib import Path

PASSWORDS = ("POSTGRES_PASSWORD", "AIRFLOW_DB_PASSWORD", "WAREHOUSE_DB_PASSWORD", "REDIS_PASSWORD")
KEYS = ("AIRFLOW_JWT_SECRET", "AIRFLOW_API_SECRET_KEY")


def filled(example: str) -> str:
    """``.env.example`` with every empty secret filled in; comments stay, other settings stay as they are."""
    lines = []
    for line in example.splitlines():
        name = line.partition("=")[0]
        if name in PASSWORDS:
            lines.append(f"{name}={secrets.token_urlsafe(24)}")
        elif name in KEYS:
            lines.append(f"{name}={secrets.token_urlsafe(48)}")
        elif name == "AIRFLOW_FERNET_KEY":
            lines.append(f"{name}={base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()}")
        else:
            # compose takes what follows a value as part of it unless it is separated: keep comments on their own lines
            value, _, comment = line.partition(" #") if line[:1].isalpha() else (line, "", "")
            lines += [f"#{comment}", value.rstrip()] if comment else [line]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> int:
    """Write ``.env`` and ``.env.passwords.json`` into ``folder``; what is there already is left alone."""
    target, passwords = folder / ".env", folder / ".env.passwords.json"
    for path, text in (
        (target, filled((folder / ".env.example").read_text())),
        (passwords, json.dumps({"admin": secrets.token_urlsafe(18)}) + "\n"),
    ):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            sys.stdout.write(f"{path} is there already and stays as it is\n")
            continue
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path.cwd()))
