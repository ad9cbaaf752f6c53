"""The Airflow containers refuse to start without good secrets, and their health checks tell why."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from images.airflow import healthy, start, users

GOOD = {
    "AIRFLOW__CORE__FERNET_KEY": "f" * 44,
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

    assert fault == "AIRFLOW__API__SECRET_KEY and AIRFLOW__API_AUTH__JWT_SECRET have the same secret"


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
