"""The Airflow containers refuse to start without good secrets, and their health checks tell why."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from benchgate.airflow import make_env
from images.airflow import healthy, start, users

ROOT = Path(__file__).resolve().parents[3]

GOOD = {
    "AIRFLOW__CORE__FERNET_KEY": "f" * 43 + "=",
    "AIRFLOW__API_AUTH__JWT_SECRET": "j" * 64,
    "AIRFLOW__API__SECRET_KEY": "s" * 64,
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg://airflow:{'a' * 32}@postgres/airflow",
    "AIRFLOW__CELERY__RESULT_BACKEND": f"db+postgresql+psycopg://airflow:{'a' * 32}@postgres/airflow",
    "AIRFLOW__CELERY__BROKER_URL": f"redis://:{'r' * 32}@redis:6379/0",
    "BENCHGATE_WAREHOUSE": f"postgresql+psycopg://benchgate_loader:{'w' * 32}@postgres/benchgate",
}


def test_good_secrets_start() -> None:
    assert start.refusals(GOOD) == []


@pytest.mark.parametrize("name", sorted(GOOD))
@pytest.mark.parametrize(
    ("value", "told"), [("", "has no secret"), ("redis://:short@redis", "characters; at least 16")]
)
def test_a_missing_or_short_secret_refuses_by_name(name: str, value: str, told: str) -> None:
    if not name.startswith(("AIRFLOW__CELERY", "AIRFLOW__DATABASE", "BENCHGATE")):
        value = value and "short"

    (fault,) = start.refusals({**GOOD, name: value})

    assert name in fault
    assert told in fault
    assert "short" not in fault


def test_one_secret_for_two_purposes_refuses() -> None:
    (fault,) = start.refusals({**GOOD, "AIRFLOW__API__SECRET_KEY": "j" * 64})

    assert fault == (
        "AIRFLOW_API_SECRET_KEY (AIRFLOW__API__SECRET_KEY) and AIRFLOW_JWT_SECRET (AIRFLOW__API_AUTH__JWT_SECRET) "
        "have the same secret"
    )


def composed(**passwords: str) -> dict[str, str]:
    """The settings as docker-compose.yaml makes them of passwords in .env."""
    db = passwords.get("AIRFLOW_DB_PASSWORD", "a" * 32)
    return {
        **GOOD,
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg://airflow:{db}@postgres/airflow",
        "AIRFLOW__CELERY__RESULT_BACKEND": f"db+postgresql+psycopg://airflow:{db}@postgres/airflow",
        "AIRFLOW__CELERY__BROKER_URL": f"redis://:{passwords.get('REDIS_PASSWORD', 'r' * 32)}@redis:6379/0",
        "BENCHGATE_WAREHOUSE": (
            f"postgresql+psycopg://benchgate:{passwords['WAREHOUSE_DB_PASSWORD']}@postgres/benchgate"
            if "WAREHOUSE_DB_PASSWORD" in passwords
            else "postgresql+psycopg://benchgate_loader:"
            f"{passwords.get('BENCHGATE_LOADER_PASSWORD', 'w' * 32)}@postgres/benchgate"
        ),
    }


@pytest.mark.parametrize(
    "name", ["AIRFLOW_DB_PASSWORD", "WAREHOUSE_DB_PASSWORD", "BENCHGATE_LOADER_PASSWORD", "REDIS_PASSWORD"]
)
class TestAPasswordOfEnv:
    def test_is_named_as_it_is_there(self, name: str) -> None:
        assert start.refusals(composed(**{name: "short"})) == [
            f"the secret in {name} has 5 characters; at least 16 are needed"
        ]

    @pytest.mark.parametrize("bad", ["@", "/", "#", "?", "%41", "%", "[", "]", " ", "\\", '"', "ä"])
    def test_is_refused_when_a_url_cannot_hold_it(self, name: str, bad: str) -> None:
        assert start.refusals(composed(**{name: f"x{bad}{'y' * 30}"})) == [
            f"{name} has characters that a URL cannot hold; use letters, digits, - and _ only"
        ]

    def test_may_be_base64_and_what_else_a_url_holds(self, name: str) -> None:
        assert start.refusals(composed(**{name: "aB3-_.~+=!*,;:$&'()aaaa"})) == []


def test_a_url_of_a_site_of_its_own_may_encode_its_password() -> None:
    url = f"postgresql+psycopg://airflow:{'%40' * 16}@db.example.net/airflow"
    short = "postgresql+psycopg://airflow:%40@db.example.net/airflow"

    assert start.refusals({**GOOD, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url}) == []
    assert start.refusals({**GOOD, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": short}) == [
        "the secret in AIRFLOW__DATABASE__SQL_ALCHEMY_CONN has 1 characters; at least 16 are needed"
    ]


def test_what_is_no_url_is_a_fault() -> None:
    assert start.refusals({**GOOD, "BENCHGATE_WAREHOUSE": "postgresql://u:p@[::1/x"}) == [
        "BENCHGATE_WAREHOUSE is no URL"
    ]


@pytest.mark.parametrize("key", ["f" * 44, "f" * 43, "not a key at all, nor will it be one ever =", "f" * 43 + "=,x"])
def test_a_fernet_key_that_is_none_refuses(key: str) -> None:
    assert start.refusals({**GOOD, "AIRFLOW__CORE__FERNET_KEY": key}) == [
        "AIRFLOW_FERNET_KEY (AIRFLOW__CORE__FERNET_KEY) is no Fernet key: 32 random bytes in URL-safe base64, "
        "44 characters"
    ]


def test_a_fernet_key_may_be_followed_by_the_one_before_it() -> None:
    keys = [make_env.fresh_secret("AIRFLOW_FERNET_KEY") for _ in range(2)]

    assert start.refusals({**GOOD, "AIRFLOW__CORE__FERNET_KEY": f"{keys[0]},{keys[1]}"}) == []


@pytest.mark.parametrize(
    ("setting", "variable"),
    [
        ("BENCHGATE_WORKER_CONCURRENCY", "AIRFLOW__CELERY__WORKER_CONCURRENCY"),
        ("BENCHGATE_API_WORKERS", "AIRFLOW__API__WORKERS"),
        ("BENCHGATE_HEARTBEAT_TIMEOUT", "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT"),
    ],
)
class TestACount:
    @pytest.mark.parametrize("value", ["many", "", "0", "-1", "1.5", "1 2", "²"])
    def test_that_is_none_refuses_by_name(self, setting: str, variable: str, value: str) -> None:
        assert start.count_refusals({variable: value}) == [
            f"{setting} ({variable}) must be a whole number above 0; is {value!r}"
        ]

    @pytest.mark.parametrize("value", ["1", "16", "300"])
    def test_that_is_one_starts(self, setting: str, variable: str, value: str) -> None:
        assert start.count_refusals({variable: value}) == []

    def test_comes_from_the_setting(self, setting: str, variable: str) -> None:
        assert f"{variable}: ${{{setting}:-" in (ROOT / "docker-compose.yaml").read_text()


def test_root_is_refused() -> None:
    (fault,) = start.user_refusals(0)

    assert fault.startswith("BENCHGATE_UID is 0")
    assert start.user_refusals(50000) == []


def test_every_fault_is_said_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**composed(REDIS_PASSWORD="short"), "AIRFLOW__API__WORKERS": "many"}
    monkeypatch.setattr(start.os, "environ", bad)
    monkeypatch.setattr(start.os, "getuid", lambda: 0)

    with pytest.raises(SystemExit, match="78"):
        start.main(["scheduler"])

    said = capsys.readouterr().err
    assert all(name in said for name in ("BENCHGATE_UID", "REDIS_PASSWORD", "BENCHGATE_API_WORKERS"))
    assert len(said.splitlines()) == 4


class TestPasswordsOfTheDatabase:
    """The script that makes the roles, with a stand-in for psql."""

    GOOD = dict.fromkeys(
        ("PGPASSWORD", "AIRFLOW_DB_PASSWORD", "WAREHOUSE_DB_PASSWORD", "BENCHGATE_LOADER_PASSWORD",
         "BENCHGATE_READER_PASSWORD"),
        "long-enough-1234",
    )  # fmt: skip

    def run(self, folder: Path, **passwords: str) -> subprocess.CompletedProcess[str]:
        psql = folder / "psql"
        psql.write_text(f"#!/bin/sh\ncat > {folder}/asked\n")
        psql.chmod(0o755)
        return subprocess.run(
            ["/bin/sh", str(ROOT / "include" / "images" / "postgres" / "roles.sh")],
            env={"PATH": f"{folder}:/usr/bin:/bin", "PGHOST": "postgres", **self.GOOD, **passwords},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_that_are_long_enough_are_set(self, tmp_path: Path) -> None:
        done = self.run(tmp_path)

        assert (done.returncode, done.stderr) == (0, "")
        assert "ALTER ROLE benchgate_reader" in (tmp_path / "asked").read_text()

    @pytest.mark.parametrize("name", sorted(GOOD))
    def test_that_are_short_refuse_before_anything_is_changed(self, name: str, tmp_path: Path) -> None:
        done = self.run(tmp_path, **{name: "qqq-secret"})

        assert done.returncode == 78
        shown = "POSTGRES_PASSWORD" if name == "PGPASSWORD" else name
        assert f"refused to start: {shown} has 10 characters; at least 16 are needed" in done.stderr
        assert "qqq" not in done.stdout + done.stderr
        assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("written", "faults"),
    [
        ("admin:admin, eve:Viewer", []),
        ("admin:root", ["user admin has the role 'root'; write viewer, user, op, admin"]),
        ("admin", ["user admin has the role 'none'; write viewer, user, op, admin"]),
        (" ", ["nobody may log in: BENCHGATE_USERS is empty"]),
    ],
)
def test_everybody_who_may_log_in_has_a_role(written: str, faults: list[str]) -> None:
    assert users.role_refusals(users.roles_of(written)) == faults


@pytest.mark.parametrize(
    ("passwords", "faults"),
    [
        ({"eve": "long-enough-1234"}, []),
        ({"admin": "long-enough-1234"}, ["user eve is new and has no password"]),
        ({"eve": "short-pass"}, ["the password of user eve has fewer than 12 characters"]),
        ([], ['the passwords file must be {"name": "password"}']),
    ],
)
def test_a_new_user_needs_a_password_that_is_not_short(passwords: object, faults: list[str]) -> None:
    assert users.password_refusals(["eve"], passwords) == faults


@pytest.mark.parametrize(("text", "told"), [("{", "is no JSON"), (None, "cannot be read by user")])
def test_a_passwords_file_that_cannot_be_read_is_refused(
    text: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(users, "SECRET_FILE", tmp_path / "passwords")
    if text is not None:
        users.SECRET_FILE.write_text(text)

    with pytest.raises(SystemExit, match="78"):
        users.read_passwords()

    assert told in capsys.readouterr().err


def test_the_container_ends_with_a_line_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        start.refuse(start.refusals({}), "run `make env`")

    said = capsys.readouterr().err.splitlines()
    assert caught.value.code == 78
    assert len(said) == len(GOOD) + 1
    assert said[-1] == "run `make env`"


class _Health(BaseHTTPRequestHandler):
    answer: object = None

    def do_GET(self) -> None:
        data = json.dumps(self.answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def api_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Health]]:
    server = HTTPServer(("127.0.0.1", 0), _Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTION_API_SERVER_URL", f"{address}/execution/")
    monkeypatch.setattr(healthy, "API_SERVER", address)
    yield _Health
    server.shutdown()
    server.server_close()


def test_a_component_is_as_healthy_as_its_heartbeat(api_server: type[_Health]) -> None:
    api_server.answer = {
        "metadatabase": {"status": "healthy"},
        "triggerer": {"status": "unhealthy", "latest_triggerer_heartbeat": "2026-11-30T02:00:00Z"},
        "dag_processor": {"status": None, "latest_dag_processor_heartbeat": None},
    }

    assert healthy.check("api-server") is None
    assert healthy.check("triggerer") == "triggerer is unhealthy, its last heartbeat was 2026-11-30T02:00:00Z"
    assert healthy.check("dag-processor") == "dag_processor is unknown, its last heartbeat was never"


def test_a_check_that_cannot_ask_is_unhealthy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(healthy, "API_SERVER", "http://127.0.0.1:1")

    assert healthy.main(["api-server"]) == 1
    assert "refused" in capsys.readouterr().out
