"""``make env``: write .env with fresh secrets for docker-compose.yaml, and passwords for its users.

What is there already stays: a second run only fills in what compose requires and is empty or missing.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import sys
from pathlib import Path

from benchgate.whole_file import whole_file

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


_SETTING = re.compile(r"\ufeff?\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*[=:](?P<value>.*)", re.DOTALL)


class _CannotFill(Exception):
    """A file that is in the way of what should be written; in words."""


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


def settings_of(text: str) -> dict[str, str]:
    """The settings of an env file as compose reads them, without quotes and comments; of two, the last one counts."""
    found = (_SETTING.match(line) for line in text.splitlines())
    return {match["name"]: _plain(match["value"]) for match in found if match}


def _plain(value: str) -> str:
    text = value.strip()
    if text[:1] in ("'", '"') and text.find(text[0], 1) > 0:
        return text[1 : text.find(text[0], 1)]
    return re.split(r"\s#", f" {text}" if value[:1].isspace() else text, maxsplit=1)[0].strip()


def completed(text: str, example: str) -> tuple[str, list[str]]:
    """An env file with what compose requires and it lacks, and the names of that. Every value that it has stays."""
    has, example_has = settings_of(text), settings_of(example)
    lacks = {
        name: fresh_secret(name) or value
        for name, value in example_has.items()
        if (fresh_secret(name) or name == "BENCHGATE_USERS") and not has.get(name)
    }
    lines = text.splitlines(keepends=True)
    at = {match["name"]: index for index, line in enumerate(lines) if (match := _SETTING.match(line))}
    added = []
    for name, value in lacks.items():
        if name in at:
            lines[at[name]] = f"{name}={value}\n"
        else:
            added.append(f"{name}={value}\n")
    if added and lines and not lines[-1].endswith("\n"):
        lines.append("\n")
    return "".join([*lines, *added]), list(lacks)


def missing_passwords(text: str, users: str) -> dict[str, str]:
    """A fresh password for everybody of ``BENCHGATE_USERS`` whom the passwords file (JSON) has none for.

    Raises:
        ValueError: it is no JSON object.
    """
    has = json.loads(text)
    if not isinstance(has, dict):
        raise ValueError('it must be {"name": "password"}')
    names = (entry.partition(":")[0].strip() for entry in users.split(","))
    return {name: secrets.token_urlsafe(18) for name in names if name and not has.get(name)}


def main(folder: Path) -> int:
    """Write ``.env`` and the passwords file into ``folder``, or fill in what they lack; 1 when that cannot be done."""
    try:
        (folder / "include" / "tls").mkdir(parents=True, exist_ok=True)
        values = settings_of(_fill_env(folder / ".env", (folder / ".env.example").read_text()))
        uid = values.get("BENCHGATE_UID", "")
        named = values.get("BENCHGATE_PASSWORDS_FILE") or ".env.passwords.json"
        owner = int(uid) if os.getuid() == 0 and uid.isdecimal() and int(uid) else container_uid()
        _fill_passwords(folder / Path(named).expanduser(), values.get("BENCHGATE_USERS", ""), owner)
    except _CannotFill as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}; run this in a checkout that you may write to\n")
        return 1
    if (uid or str(DEFAULT_UID)) != str(owner):
        told = uid or f"not set, so {DEFAULT_UID}"
        sys.stdout.write(f"BENCHGATE_UID is {told}, and the passwords file is for user {owner}: make that the same\n")
    return 0


def _fill_env(path: Path, example: str) -> str:
    """Write .env, or what it lacks; what it holds then."""
    there = _content(path)
    if there is None:
        text = filled(example, container_uid())
        _write(path, text, os.getuid())
        sys.stdout.write(f"wrote {path}\n")
        return text
    text, names = completed(there, example)
    if names:
        _write(path, text, path.stat().st_uid)
        sys.stdout.write(f"{path} keeps what it has; filled in {', '.join(names)}\n")
    else:
        sys.stdout.write(f"{path} is there already, lacks no secret and stays as it is\n")
    return text


def _fill_passwords(path: Path, users: str, owner: int) -> None:
    """Write the passwords file, or the users that it lacks."""
    there = _content(path)
    try:
        fresh = missing_passwords("{}" if there is None else there, users)
    except ValueError as error:
        raise _CannotFill(f"{path} is no passwords file: {error}; correct it, or move it away") from None
    if there is None:
        _write(path, json.dumps(fresh) + "\n", owner)
        sys.stdout.write(f"wrote {path}\n")
    elif fresh:
        _write(path, json.dumps({**json.loads(there), **fresh}) + "\n", path.stat().st_uid)
        who = ", ".join(fresh)
        sys.stdout.write(f"{path} keeps what it has; new passwords for {who}, which count for users yet to be made\n")
    else:
        sys.stdout.write(f"{path} is there already, lacks no user and stays as it is\n")


def _content(path: Path) -> str | None:
    """What a file holds; None when there is none. Refuses what is in the way of one."""
    if path.is_dir():
        why = "Docker makes one where a file that it mounts is missing"
        raise _CannotFill(f"{path} is a folder ({why}); remove it, and run this again")
    if path.is_symlink() and not path.exists():
        raise _CannotFill(
            f"{path} is a link to {path.readlink()}, which is not there; remove the link, or make the file"
        )
    if path.exists() and not path.is_file():
        raise _CannotFill(f"{path} is no file; move it away")
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise _CannotFill(f"{path} is no UTF-8 text; correct it, or move it away") from None
    except OSError as error:
        raise _CannotFill(f"{path} cannot be read: {error.strerror}; run this as its owner") from None


def _write(path: Path, text: str, owner: int) -> None:
    """Write a whole file that only its owner can read."""
    with whole_file(path, mode=0o600, durable=True) as aside:
        aside.write_bytes(text.encode())
        if owner != os.getuid():
            os.chown(aside, owner, -1)


if __name__ == "__main__":
    raise SystemExit(main(Path.cwd()))
