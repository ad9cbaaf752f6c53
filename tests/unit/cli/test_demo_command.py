"""What cannot run is told before Airflow is started for it."""

from __future__ import annotations

import pytest

from benchgate import cli
from benchgate.airflow import demo


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--campaign", "nope"], "there is no campaign 'nope' (there are: "),
        (["--conf", "{"], "--conf is no JSON"),
        (["--conf", "[]"], "--conf must be a JSON object"),
        (["--conf", '{"arm": ["threads-1"]}'], "there is no choice arm (choices: arms,"),
        (["--conf", '{"arms": ["nope"]}'], "there is no arm 'nope'"),
        (["--conf", '{"users": ["x"]}'], "users must be whole numbers"),
        (["--conf", '{"repeats": 0}'], "repeats must be at least 1"),
    ],
)
def test_a_demo_that_cannot_run_is_told_at_once(
    arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda *_args, **_options: pytest.fail("Airflow was started"))

    assert cli.main(["demo", *arguments]) == 1

    assert says in capsys.readouterr().err


def test_choices_that_fit_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(demo, "run_demo", lambda campaign, conf, **_: asked.append((campaign, conf)) or 0)

    assert cli.main(["demo", "--conf", '{"arms": ["threads-1"], "users": ["4"], "repeats": 1}']) == 0

    assert asked == [("demo", {"arms": ["threads-1"], "users": ["4"], "repeats": 1})]
