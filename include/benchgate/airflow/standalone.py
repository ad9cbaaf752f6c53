"""``make ui``: a whole Airflow on this machine, over the runs in BENCHGATE_HOME."""

from __future__ import annotations

import json
import os
import secrets
import sys

from benchgate.airflow import local


def main() -> int:
    """Prepare the database and a password, say where the UI is, and become ``airflow standalone``."""
    home = local.airflow_home()
    local.prepare_database()
    passwords = home / "passwords.json"
    if not passwords.exists():
        descriptor = os.open(passwords, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"admin": secrets.token_urlsafe(18)}, file)
    password = json.loads(passwords.read_text())["admin"]
    port = os.environ.get("AIRFLOW__API__PORT", "8080")
    sys.stdout.write(
        f"Airflow UI   http://127.0.0.1:{port}   (ready in about half a minute; Ctrl-C stops it)\n"
        f"login        admin / {password}   (kept in {passwords})\n"
    )
    sys.stdout.flush()
    environment = {
        **os.environ,
        **local.environment(),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
    }
    os.execve(sys.executable, [sys.executable, "-m", "airflow", "standalone"], environment)  # noqa: S606


if __name__ == "__main__":
    raise SystemExit(main())
