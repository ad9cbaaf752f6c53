"""Secrets for docker-compose.yaml."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

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


REQUIRED = (*make_env.PASSWORDS, *make_env.KEYS, "AIRFLOW_FERNET_KEY")


def checkout(folder: Path, env: str | None = None, passwords: str | None = None) -> Path:
    (folder / ".env.example").write_text(EXAMPLE)
    for name, text in ((".env", env), (".env.passwords.json", passwords)):
        if text is not None:
            (folder / name).write_text(text)
            (folder / name).chmod(0o600)
    return folder


def test_an_env_file_keeps_its_values_and_gets_the_secrets_that_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = "".join(f"{name}=kept-{name}\n" for name in REQUIRED[2:])
    env = f"# mine\nPOSTGRES_PASSWORD=\n{kept}BENCHGATE_PORT=9\nBENCHGATE_USERS='eve:op'\nMINE=x # note"
    folder = checkout(tmp_path, env)

    assert make_env.main(folder) == 0

    text = (folder / ".env").read_text()
    values = make_env.settings_of(text)
    assert re.fullmatch(r"[\w-]{43}", values.pop("POSTGRES_PASSWORD"))
    assert re.fullmatch(r"[\w-]{43}", values.pop("AIRFLOW_DB_PASSWORD"))
    assert values == {
        **{name: f"kept-{name}" for name in REQUIRED[2:]},
        "BENCHGATE_PORT": "9",
        "BENCHGATE_USERS": "eve:op",
        "MINE": "x",
    }
    assert text.startswith("# mine\nPOSTGRES_PASSWORD=")
    assert "\nMINE=x # note\n" in text
    assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
    said = capsys.readouterr().out
    assert "filled in POSTGRES_PASSWORD, AIRFLOW_DB_PASSWORD\n" in said
    assert list(json.loads((folder / ".env.passwords.json").read_text())) == ["eve"]


@pytest.mark.parametrize("empty", ["NAME=", 'NAME=""', "NAME=''", "export NAME=", "NAME=  # later", "NAME=old\nNAME="])
def test_a_secret_is_empty_however_that_is_written(empty: str) -> None:
    text, names = make_env.completed(empty.replace("NAME", "REDIS_PASSWORD") + "\nX=1\n", EXAMPLE)

    assert "REDIS_PASSWORD" in names
    assert len(make_env.settings_of(text)["REDIS_PASSWORD"]) == 43
    assert make_env.settings_of(text)["X"] == "1"


@pytest.mark.parametrize(
    "there", ["NAME=a#b", "NAME='a#b'", 'NAME="a#b" # note', "export NAME=a#b # note", "NAME=\nNAME=a#b"]
)
def test_a_secret_that_is_there_stays_however_it_is_written(there: str) -> None:
    there = there.replace("NAME", "REDIS_PASSWORD") + "\n"

    text, names = make_env.completed(there, EXAMPLE)

    assert "REDIS_PASSWORD" not in names
    assert text.startswith(there)
    assert make_env.settings_of(text)["REDIS_PASSWORD"] == "a#b"


def test_who_may_log_in_is_filled_in_and_gets_a_password(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "BENCHGATE_USERS=\n", json.dumps({"eve": "kept-password-1"}))

    assert make_env.main(folder) == 0

    assert make_env.settings_of((folder / ".env").read_text())["BENCHGATE_USERS"] == "admin:admin"
    passwords = json.loads((folder / ".env.passwords.json").read_text())
    assert passwords.pop("eve") == "kept-password-1"
    assert list(passwords) == ["admin"]
    assert len(passwords["admin"]) == 24
    assert stat.S_IMODE((folder / ".env.passwords.json").stat().st_mode) == 0o600


def test_a_file_that_anybody_could_read_becomes_private_when_secrets_are_filled_in(tmp_path: Path) -> None:
    folder = checkout(tmp_path, EXAMPLE)
    (folder / ".env").chmod(0o644)

    assert make_env.main(folder) == 0

    assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
    assert all(make_env.settings_of((folder / ".env").read_text())[name] for name in REQUIRED)


def test_passwords_go_into_the_file_that_the_settings_name(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "BENCHGATE_PASSWORDS_FILE=./site.json\n")

    assert make_env.main(folder) == 0

    assert list(json.loads((folder / "site.json").read_text())) == ["admin"]
    assert not (folder / ".env.passwords.json").exists()


@pytest.mark.parametrize("name", [".env", ".env.passwords.json"])
@pytest.mark.parametrize("what", ["folder", "link", "unreadable", "binary"])
def test_what_is_in_the_way_is_an_error_in_words(
    name: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = checkout(tmp_path) / name
    if what == "folder":
        file.mkdir()
    elif what == "link":
        file.symlink_to("nowhere")
    elif what == "binary":
        file.write_bytes(b"\xff\xfe")
    else:
        file.write_text("REDIS_PASSWORD=x\n")
        read = Path.read_bytes

        def refused(path: Path) -> bytes:
            if path == file:
                raise PermissionError(13, "Permission denied", str(path))
            return read(path)

        monkeypatch.setattr(Path, "read_bytes", refused)

    assert make_env.main(tmp_path) == 1

    told = {"folder": "is a folder", "link": "is a link to nowhere", "unreadable": "cannot be read", "binary": "UTF-8"}
    said = capsys.readouterr().err
    assert said.startswith(f"error: {file} ")
    assert told[what] in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[]", '"x"'])
def test_a_damaged_passwords_file_is_an_error_and_stays(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checkout(tmp_path, passwords=text)

    assert make_env.main(folder) == 1

    assert "is no passwords file" in capsys.readouterr().err
    assert (folder / ".env.passwords.json").read_text() == text


def test_a_user_id_that_cannot_read_the_passwords_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = checkout(tmp_path, "BENCHGATE_UID=0\n")

    assert make_env.main(folder) == 0

    assert "BENCHGATE_UID is 0" in capsys.readouterr().out
