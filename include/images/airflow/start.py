"""Entry point of the Airflow containers: refuses to start without good secrets, then becomes ``airflow ARGUMENTS``.

Compose refuses a secret that is unset or empty. This refuses what it cannot see: one that is short, or that another one
repeats.

``start.py init`` migrates both databases, makes the users who are new and grants the warehouse's roles; other arguments
are those of ``airflow``.
Exit status 78 (EX_CONFIG) and one line a fault when something is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

MIN_LENGTH = 16  # characters of a secret; `make env` makes 32 and more
EX_CONFIG = 78
KEYS = ("AIRFLOW__CORE__FERNET_KEY", "AIRFLOW__API_AUTH__JWT_SECRET", "AIRFLOW__API__SECRET_KEY")
URLS = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CELERY__RESULT_BACKEND",
    "AIRFLOW__CELERY__BROKER_URL",
    "BENCHGATE_WAREHOUSE",
)


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


def refuse(faults: list[str], where: str) -> None:
    """Say every fault and end, if there is one."""
    if faults:
        for fault in faults:
            sys.stderr.write(f"refused to start: {fault}\n")
        sys.stderr.write(f"{where}\n")
        raise SystemExit(EX_CONFIG)


def init() -> int:
    """Bring both databases, their users and roles to this version. Safe to run again, and on every upgrade."""
    for command in (
        ["airflow", "db", "migrate"],
        ["images.airflow.users"],
        ["benchgate", "warehouse", "migrate"],
        ["benchgate", "warehouse", "roles"],
    ):
        code = subprocess.run([sys.executable, "-m", *command], check=False).returncode
        if code != 0:
            sys.stderr.write(f"{' '.join(command)} ended with exit code {code}\n")
            return code
    return 0


def main(arguments: list[str]) -> int:
    """Check, and become Airflow."""
    refuse(refusals(os.environ), "run `make env` and put what it made into .env")
    if arguments == ["init"]:
        return init()
    return os.execv(sys.executable, [sys.executable, "-m", "airflow", *arguments])  # noqa: S606


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
