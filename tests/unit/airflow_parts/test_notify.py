"""One message through any notifier."""

from __future__ import annotations

import pytest

from benchgate.airflow import notify
from benchgate.errors import BenchgateError

SENT: list[str] = []


class Notifier:
    """Takes what Airflow's notifiers take."""

    def __init__(self, text: str, channel: str = "x") -> None:
        self.text, self.channel = text, channel

    def notify(self, context: object) -> None:
        SENT.append(f"{self.channel}: {self.text}")


PATH = f"{__name__}.Notifier"


def test_the_message_reaches_the_configured_notifier_with_secrets_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    SENT.clear()
    monkeypatch.setenv(notify.NOTIFIER, PATH)
    monkeypatch.setenv(notify.ARGUMENTS, '{"text": "night: {message}", "channel": "perf"}')

    notify.send("slower, token hf_abcdefgh12345678")

    assert SENT == ["perf: night: slower, token ***"]


def test_without_a_notifier_nothing_is_sent_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(notify.NOTIFIER, raising=False)

    assert "not set" in notify.send("x")


@pytest.mark.parametrize(
    ("path", "arguments", "problem"),
    [
        ("nowhere.Nothing", "{}", "cannot be imported"),
        ("Nothing", "{}", "cannot be imported"),
        (PATH, "{", "is no JSON"),
        (PATH, "[]", "must be a JSON object"),
        (PATH, '{"unknown": "{message}"}', "does not take"),
    ],
)
def test_a_configuration_that_cannot_work_is_told(path: str, arguments: str, problem: str) -> None:
    with pytest.raises(BenchgateError, match=problem):
        notify.build_notifier(path, arguments, "m")
