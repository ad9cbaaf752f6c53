"""Entry point of the Airflow containers: refuses to start without good settings, then becomes ``airflow ARGUMENTS``.

Compose refuses a secret that is unset or empty. This refuses what it cannot see: one that is short, that another one
repeats, that a URL cannot hold or that is no key; a count that is none; and to run as root.

``start.py init`` migrates both databases, makes the users who are new and grants the warehouse's roles; other arguments
are those of ``airflow``.
Exit status 78 (EX_CONFIG) and one line a fault when something is refused.
"""

from __future__ import annotations

import os
import re
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
# as .env calls them
IN_ENV = {
    "AIRFLOW__CORE__FERNET_KEY": "AIRFLOW_FERNET_KEY",
    "AIRFLOW__API_AUTH__JWT_SECRET": "AIRFLOW_JWT_SECRET",
    "AIRFLOW__API__SECRET_KEY": "AIRFLOW_API_SECRET_KEY",
    "AIRFLOW__CELERY__WORKER_CONCURRENCY": "BENCHGATE_WORKER_CONCURRENCY",
    "AIRFLOW__API__WORKERS": "BENCHGATE_API_WORKERS",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "BENCHGATE_HEARTBEAT_TIMEOUT",
}
COUNTS = tuple(IN_ENV)[3:]
# a URL as docker-compose.yaml makes it around a password, whatever that is: a URL of a site's own is not one of these
_COMPOSED = re.compile(
    r"(?:db\+)?(?:postgresql\+psycopg|redis)://(?P<user>airflow|benchgate|benchgate_loader|):(?P<password>.*)"
    r"@(?:postgres/(?:airflow|benchgate)|redis:6379/0)",
    re.DOTALL,
)
_PASSWORD_OF = {
    "airflow": "AIRFLOW_DB_PASSWORD",
    "benchgate": "WAREHOUSE_DB_PASSWORD",
    "benchgate_loader": "BENCHGATE_LOADER_PASSWORD",
    "": "REDIS_PASSWORD",
}
# what ends a password in a URL, or is read as something else there
_NOT_IN_URLS = re.compile(r"[^!-~]|[@/?#%\[\]\\\"<>^`{|}]")
_FERNET_KEY = re.compile(r"[A-Za-z0-9_+/-]{43}=")


def secrets_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Every secret by the name of its setting: keys as they are, passwords out of URLs. Missing ones are empty.

    A name is that of .env where the value comes from there. Raises ValueError for a URL that is none.
    """
    found = {f"{IN_ENV[name]} ({name})": environ.get(name, "") for name in KEYS}
    for name in URLS:
        url = environ.get(name, "")
        if composed := _COMPOSED.fullmatch(url):
            found[_PASSWORD_OF[composed["user"]]] = composed["password"]
            continue
        try:
            found[name] = unquote(urlsplit(url.removeprefix("db+")).password or "")
        except ValueError:
            raise ValueError(f"{name} is no URL") from None
    return found


def refusals(environ: Mapping[str, str]) -> list[str]:
    """What is wrong with the secrets, one line each; never the secret itself."""
    try:
        secrets = secrets_of(environ)
    except ValueError as error:
        return [str(error)]
    faults = []
    seen: dict[str, str] = {}
    for name, value in secrets.items():
        if not value:
            faults.append(f"{name} has no secret")
        elif len(value) < MIN_LENGTH:
            faults.append(f"the secret in {name} has {len(value)} characters; at least {MIN_LENGTH} are needed")
        elif name in _PASSWORD_OF.values() and _NOT_IN_URLS.search(value):
            faults.append(f"{name} has characters that a URL cannot hold; use letters, digits, - and _ only")
        elif name.endswith(f"({KEYS[0]})") and not all(map(_FERNET_KEY.fullmatch, value.split(","))):
            faults.append(f"{name} is no Fernet key: 32 random bytes in URL-safe base64, 44 characters")
        elif value in seen and {name, seen[value]} != set(URLS[:2]):  # the result backend is the same database
            faults.append(f"{name} and {seen[value]} have the same secret")
        seen.setdefault(value, name)
    return faults


def count_refusals(environ: Mapping[str, str]) -> list[str]:
    """Which settings should be whole numbers above 0 and are not, one line each. Unset ones have Airflow's default."""
    return [
        f"{IN_ENV[name]} ({name}) must be a whole number above 0; is {environ[name]!r}"
        for name in COUNTS
        if name in environ and not re.fullmatch(r"0*[1-9][0-9]*", environ[name])
    ]


def user_refusals(uid: int) -> list[str]:
    """Root in a container is root wherever it gets out."""
    return [] if uid else ["BENCHGATE_UID is 0: the containers never run as root; give it an ordinary user's id"]


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
    faults = [*user_refusals(os.getuid()), *refusals(os.environ), *count_refusals(os.environ)]
    refuse(faults, "correct .env; `make env` fills in secrets that are empty or missing there")
    if arguments == ["init"]:
        return init()
    return os.execv(sys.executable, [sys.executable, "-m", "airflow", *arguments])  # noqa: S606


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
