"""Entry point of the Airflow containers: refuses to start without good secrets, then becomes ``airflow ARGUMENTS``.

Compose refuses a secret that is unset or empty. This refuses what it cannot see: one that is short, that another one
repeats, or a user without a password, for whom Airflow would make one up and print it into its log.

``start.py init`` migrates both databases and grants the warehouse's roles; other arguments are those of ``airflow``.
Exit status 78 (EX_CONFIG) and one line a fault when something is refused.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

MIN_LENGTH = 16  # characters of a secret; `make env` makes 32 and more
MIN_PASSWORD = 12  # of a person
EX_CONFIG = 78
KEYS = ("AIRFLOW__CORE__FERNET_KEY", "AIRFLOW__API_AUTH__JWT_SECRET", "AIRFLOW__API__SECRET_KEY")
URLS = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CELERY__RESULT_BACKEND",
    "AIRFLOW__CELERY__BROKER_URL",
    "BENCHGATE_WAREHOUSE",
)
SECRET_FILE = Path("/run/secrets/passwords")


def secrets_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Every secret by the name of its setting: keys as they are, passwords out of URLs. Missing ones are empty."""
    found = {name: environ.get(name, "") for name in KEYS}
    for name in URLS:
        found[name] = unquote(urlsplit(environ.get(name, "").removeprefix("db+")).password or "")
    return found


def refusals(environ: Mapping[str, str]) -> list[str]:
    """What is wrong with the secrets, one line each; never the secret itself."""
    faults = []
    seen: dict[str, str] = {}
    for name, value in secrets_of(environ).items():
        if not value:
            faults.append(f"{name} has no secret")
        elif len(value) < MIN_LENGTH:
            faults.append(f"the secret in {name} has {len(value)} characters; at least {MIN_LENGTH} are needed")
        elif value in seen and {name, seen[value]} != set(URLS[:2]):  # the result backend is the same database
            faults.append(f"{name} and {seen[value]} have the same secret")
        seen.setdefault(value, name)
    return faults


def password_refusals(users: str, text: str) -> list[str]:
    """What is wrong with the users' passwords.

    Args:
        users: ``name:role,name:role``, as Airflow reads it.
        text: the passwords file, ``{"name": "password"}``.
    """
    try:
        passwords = json.loads(text)
    except ValueError as error:
        return [f"the passwords file is no JSON: {error}"]
    if not isinstance(passwords, dict):
        return ['the passwords file must be {"name": "password"}']
    faults = []
    for entry in filter(None, re.split(r"\s*,\s*", users.strip())):
        name, _, role = entry.partition(":")
        password = passwords.get(name)
        if role.lower() not in ("viewer", "user", "op", "admin"):
            faults.append(f"user {name} has the role {role or 'none'!r}; write viewer, user, op or admin")
        if not isinstance(password, str) or not password:
            faults.append(f"user {name} has no password")
        elif len(password) < MIN_PASSWORD:
            faults.append(f"the password of user {name} has fewer than {MIN_PASSWORD} characters")
    return faults or ([] if users.strip() else ["nobody may log in: BENCHGATE_USERS is empty"])


def refuse(faults: list[str], where: str) -> None:
    """Say every fault and end, if there is one."""
    if faults:
        for fault in faults:
            sys.stderr.write(f"refused to start: {fault}\n")
        sys.stderr.write(f"{where}\n")
        raise SystemExit(EX_CONFIG)


def prepare_passwords(environ: Mapping[str, str]) -> str:
    """Check the passwords of who may log in and copy them to where Airflow may open them for writing, as it insists to.

    Returns:
        the path of the copy, in a tmpfs that only this container has.
    """
    where = f"correct {SECRET_FILE.name} (BENCHGATE_PASSWORDS_FILE in .env) and BENCHGATE_USERS"
    try:
        text = SECRET_FILE.read_text()
    except OSError as error:
        refuse([f"the passwords file cannot be read by user {os.getuid()}: {error.strerror}"], f"{where}; `make env`")
    refuse(password_refusals(environ.get("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS", ""), text), where)
    copy = Path(environ["AIRFLOW_HOME"]) / "passwords.json"
    copy.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return str(copy)


def init() -> int:
    """Bring both databases to this version and grant the warehouse's roles. Safe to run again, and on every upgrade."""
    for command in (
        ["airflow", "db", "migrate"],
        ["benchgate", "warehouse", "migrate"],
        ["benchgate", "warehouse", "roles"],
    ):
        code = subprocess.run([sys.executable, "-m", *command], check=False).returncode
        if code != 0:
            sys.stderr.write(f"{' '.join(command)} ended with exit code {code}\n")
            return code
    return 0


def main(arguments: list[str]) -> int:
    """Check, prepare, and become Airflow."""
    refuse(refusals(os.environ), "run `make env` and put what it made into .env")
    if arguments == ["init"]:
        return init()
    if arguments[:1] == ["api-server"]:
        os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"] = prepare_passwords(os.environ)
    return os.execv(sys.executable, [sys.executable, "-m", "airflow", *arguments])  # noqa: S606


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
