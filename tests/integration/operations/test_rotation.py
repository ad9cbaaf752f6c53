"""A secret that was rotated is used at once, and the old one is not kept anywhere."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.warehouse.connect import open_warehouse, reading
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.roles import LOADER, create_roles
from tests.support.postgres import fresh_database

ROOT = Path(__file__).resolve().parents[3]


def opens(verifier: str, password: str) -> bool:
    """Whether a password fits a SCRAM-SHA-256 verifier (RFC 5802): what PostgreSQL does at a login."""
    _, iterations_salt, keys = verifier.split("$")
    iterations, salt = iterations_salt.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(iterations))
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return base64.b64encode(stored).decode() == keys.partition(":")[0]


@pytest.mark.postgres
def test_the_old_password_of_a_role_ends_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def verifier(url: str) -> str:
        with reading(open_warehouse(url)) as connection:
            query = f"SELECT rolpassword FROM pg_authid WHERE rolname = '{LOADER}'"
            return str(connection.exec_driver_sql(query).scalar())

    with fresh_database() as url:
        migrate(url)
        monkeypatch.setenv("BENCHGATE_LOADER_PASSWORD", "the-old-password")
        create_roles(url)
        assert opens(verifier(url), "the-old-password")

        monkeypatch.setenv("BENCHGATE_LOADER_PASSWORD", "the-new-password")
        create_roles(url)

        assert opens(verifier(url), "the-new-password")
        assert not opens(verifier(url), "the-old-password")


ASK_TWICE = """
import os
from airflow.sdk.exceptions import AirflowNotFoundException
from benchgate.airflow import secrets as module

store = {"benchgate_hf_token": "hf_oldoldoldold"}
class Variable:
    @staticmethod
    def get(name, default=None):
        return store.get(name, default)
class Connection:
    @staticmethod
    def get(name):
        raise AirflowNotFoundException(name)
module.Variable, module.Connection = Variable, Connection
os.environ["OTHER"] = "first-value"
first = module.secret_values(["HF_TOKEN", "OTHER"])
store["benchgate_hf_token"] = "hf_newnewnewnew"
os.environ["OTHER"] = "second-value"
second = module.secret_values(["HF_TOKEN", "OTHER"])
assert first == {"HF_TOKEN": "hf_oldoldoldold", "OTHER": "first-value"}, first
assert second == {"HF_TOKEN": "hf_newnewnewnew", "OTHER": "second-value"}, second
from benchgate.secrets import mask
print(mask("hf_oldoldoldold hf_newnewnewnew first-value second-value"))
"""


def test_each_task_asks_for_its_secrets_again_and_masks_old_and_new(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ASK_TWICE],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include"), "AIRFLOW_HOME": str(tmp_path)},
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split() == ["***"] * 4  # Airflow may warn of something before it
    assert not any(secret in result.stdout for secret in ("oldold", "newnew", "-value"))
