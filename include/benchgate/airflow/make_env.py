"""``make env``: write .env with fresh secrets for docker-compose.yaml, and a password for the first user."""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
from pathlib import Path

PASSWORDS = (
    "POSTGRES_PASSWORD",
    "AIRFLOW_DB_PASSWORD",
    "WAREHOUSE_DB_PASSWORD",
    "BENCHGATE_LOADER_PASSWORD",
    "BENCHGATE_READER_PASSWORD",
    "REDIS_PASSWORD",
)
KEYS = ("AIRFLOW_JWT_SECRET", "AIRFLOW_API_SECRET_KEY")
DEFAULT_UID = 50000  # of the image's user, when root runs `make env`: the containers never run as root


def fresh_secret(name: str) -> str | None:
    """A new value for a secret; None when ``name`` is an ordinary setting. Safe in a URL, a shell and an env file."""
    if name in PASSWORDS:
        return secrets.token_urlsafe(32)
    if name in KEYS:
        return secrets.token_urlsafe(48)
    if name == "AIRFLOW_FERNET_KEY":
        return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return None


def filled(example: str, uid: int = DEFAULT_UID) -> str:
    """``.env.example`` with every secret and the user id filled in; comments and other settings stay as they are."""
    lines = []
    for line in example.splitlines():
        name, is_setting, _ = line.partition("=")
        secret = fresh_secret(name) if is_setting else None
        if secret is not None:
            line = f"{name}={secret}"
        elif name == "BENCHGATE_UID":
            line = f"{name}={uid}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def container_uid() -> int:
    """The user that the containers run as: whoever runs this (they read his files); for root, the image's own."""
    return os.getuid() or DEFAULT_UID


def main(folder: Path) -> int:
    """Write ``.env`` and ``.env.passwords.json`` into ``folder``; what is there already is left alone."""
    example, uid = folder / ".env.example", container_uid()
    try:
        text = filled(example.read_text(), uid)
        (folder / "include" / "tls").mkdir(parents=True, exist_ok=True)
        _write(folder / ".env", text, os.getuid())
        _write(folder / ".env.passwords.json", json.dumps({"admin": secrets.token_urlsafe(18)}) + "\n", uid)
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}; run this in a checkout that you may write to\n")
        return 1
    return 0


def _write(path: Path, text: str, owner: int) -> None:
    """Write a file that only its owner can read, unless there is one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.stdout.write(f"{path} is there already and stays as it is\n")
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if owner != os.getuid():
            os.fchown(file.fileno(), owner, -1)
    sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    raise SystemExit(main(Path.cwd()))
