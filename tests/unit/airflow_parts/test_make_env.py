"""Secrets for docker-compose.yaml."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

from benchgate.airflow import make_env

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / ".env.example").read_text()


def settings_of(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))


def test_every_secret_is_filled_and_no_two_are_alike() -> None:
    values = settings_of(make_env.filled(EXAMPLE))

    secrets = [values[name] for name in (*make_env.PASSWORDS, *make_env.KEYS, "AIRFLOW_FERNET_KEY")]
    assert all(len(secret) >= 32 for secret in secrets)
    assert len(set(secrets)) == len(secrets)
    assert values["BENCHGATE_BIND"] == "127.0.0.1"


def test_what_compose_requires_is_in_the_example() -> None:
    compose = (ROOT / "docker-compose.yaml").read_text()

    required = set(re.findall(r"\$\{([A-Z_]+):\?", compose))
    assert required
    assert required <= set(settings_of(make_env.filled(EXAMPLE)))
    assert set(re.findall(r"\$\{([A-Z_]+)[:}]", compose)) <= set(settings_of(make_env.filled(EXAMPLE)))


def test_files_are_readable_only_by_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text(EXAMPLE)

    make_env.main(tmp_path)
    first = (tmp_path / ".env").read_text()
    make_env.main(tmp_path)

    assert (tmp_path / ".env").read_text() == first
    for name in (".env", ".env.passwords.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert len(json.loads((tmp_path / ".env.passwords.json").read_text())["admin"]) >= 20
