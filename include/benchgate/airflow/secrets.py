"""Secrets of a campaign: from Airflow variables or connections, else from the worker's environment. Masked at once."""

from __future__ import annotations

import os

from airflow.sdk import Connection, Variable
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from benchgate import secrets
from benchgate.errors import SeedError


def secret_values(names: list[str]) -> dict[str, str]:
    """The values of ``names``, each masked in logs before it is used.

    Looked up in this order: the Airflow variable ``benchgate_<name in lower case>``, the password of the Airflow
    connection of that name, the environment variable ``<NAME>`` of the worker.

    Raises:
        SeedError: a name that nobody defines.
    """
    found = {}
    for name in names:
        value = _variable(name) or _connection(name) or os.environ.get(name)
        if not value:
            raise SeedError(
                f"the campaign needs the secret {name} and nobody defines it",
                remedy=f"set the Airflow variable benchgate_{name.lower()}, or {name} in the worker's environment",
            )
        mask_secret(value)
        secrets.register(value)
        found[name] = value
    return found


def _variable(name: str) -> str | None:
    value = Variable.get(f"benchgate_{name.lower()}", default=None)
    return str(value) if value else None


def _connection(name: str) -> str | None:
    try:
        password = Connection.get(f"benchgate_{name.lower()}").password
    except AirflowNotFoundException:
        return None
    return str(password) if password else None
