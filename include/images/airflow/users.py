"""Who may log in, in the init step: makes those users of ``BENCHGATE_USERS`` whom Airflow does not know yet.

Flask-AppBuilder keeps users in Airflow's database, with hashed passwords. Whoever is there stays as he is: passwords
and roles are changed in the UI, and the next start must not undo that. So the passwords file is read for new users
only, and a password may go from it afterwards.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from images.airflow.start import refuse

ROLES = {"viewer": "Viewer", "user": "User", "op": "Op", "admin": "Admin"}  # as Flask-AppBuilder calls them
MIN_PASSWORD = 12  # characters
SECRET_FILE = Path("/run/secrets/passwords")
WHERE = "correct BENCHGATE_USERS in .env, and the file that BENCHGATE_PASSWORDS_FILE names there"


def roles_of(users: str) -> dict[str, str]:
    """Name -> role out of ``name:role,name:role``; the role as it is written, empty when there is none."""
    entries = filter(None, re.split(r"\s*,\s*", users.strip()))
    return {name: role.lower() for name, _, role in (entry.partition(":") for entry in entries)}


def role_refusals(roles: dict[str, str]) -> list[str]:
    """What is wrong with the roles, one line each."""
    if not roles:
        return ["nobody may log in: BENCHGATE_USERS is empty"]
    return [
        f"user {name} has the role {role or 'none'!r}; write {', '.join(ROLES)}"
        for name, role in roles.items()
        if role not in ROLES
    ]


def password_refusals(names: Iterable[str], passwords: object) -> list[str]:
    """What is wrong with the passwords of new users, one line each; never the password itself."""
    if not isinstance(passwords, dict):
        return ['the passwords file must be {"name": "password"}']
    faults = []
    for name in names:
        password = passwords.get(name)
        if not isinstance(password, str) or not password:
            faults.append(f"user {name} is new and has no password")
        elif len(password) < MIN_PASSWORD:
            faults.append(f"the password of user {name} has fewer than {MIN_PASSWORD} characters")
    return faults


def read_passwords() -> object:
    """What the passwords file holds; refuses one that cannot be read."""
    try:
        return json.loads(SECRET_FILE.read_text())
    except OSError as error:
        fault = f"the passwords file cannot be read by user {os.getuid()}: {error.strerror}; `make env` makes one"
    except ValueError as error:
        fault = f"the passwords file is no JSON: {error}"
    refuse([fault], WHERE)
    return None


def main() -> int:
    """Make the users who are new, and say which."""
    roles = roles_of(os.environ.get("BENCHGATE_USERS", ""))
    refuse(role_refusals(roles), WHERE)
    from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder

    with get_application_builder() as builder:
        users = builder.sm
        new = [name for name in roles if users.find_user(name) is None]
        passwords = read_passwords() if new else {}
        refuse(password_refusals(new, passwords), WHERE)
        assert isinstance(passwords, dict)  # or it was refused
        for name in new:
            role = users.find_role(ROLES[roles[name]])
            # the address must be there and be nobody else's; no mail is sent to it
            if not users.add_user(name, name, "", f"{name}@localhost", role, passwords[name]):
                sys.stderr.write(f"user {name} cannot be made; what is wrong stands above\n")
                return 1
            sys.stdout.write(f"made user {name}, {ROLES[roles[name]]}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
