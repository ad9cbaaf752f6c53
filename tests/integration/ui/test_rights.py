"""Who may see a campaign, asked of an auth manager directly: also of DAGs that are gone, and of teams."""

from __future__ import annotations

import os
from typing import Any

import pytest

os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "True")


class Manager:
    """Lets everybody read what the team owns, and remembers what it was asked."""

    def __init__(self, team: str | None = None, logs: bool = True) -> None:
        self.team, self.logs = team, logs
        self.asked: list[tuple[str, str | None]] = []

    def filter_authorized_dag_ids(
        self, *, dag_ids: set[str], user: Any, method: str, team_name: str | None
    ) -> set[str]:
        """As Airflow asks."""
        assert method == "GET"
        self.asked += [(dag, team_name) for dag in sorted(dag_ids)]
        return {dag for dag in dag_ids if team_name in (None, self.team)}

    def is_authorized_dag(self, *, method: str, access_entity: Any, details: Any, user: Any) -> bool:
        """Whether logs may be read."""
        return self.logs


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, without an Airflow database behind it."""
    from benchgate.airflow import pages_access

    class Session:
        def scalars(self, query: Any) -> set[str]:
            asked = {name for value in query.compile().params.values() for name in value}
            return asked & {"ours", "theirs", "nobodys"}

        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(pages_access, "create_session", Session)
    teams = {"ours": "blue", "theirs": "red"}
    monkeypatch.setattr(
        pages_access.DagModel, "get_dag_id_to_team_name_mapping", lambda names, session: {n: teams[n] for n in teams}
    )
    return pages_access


def _use(monkeypatch: pytest.MonkeyPatch, access: Any, manager: Manager, *, teams: bool) -> None:
    monkeypatch.setattr(access, "get_auth_manager", lambda: manager)
    monkeypatch.setattr(access.conf, "getboolean", lambda section, key, fallback=None: teams)


def test_a_campaign_whose_dag_is_gone_is_asked_about_by_its_name(monkeypatch: pytest.MonkeyPatch, access: Any) -> None:
    manager = Manager()
    _use(monkeypatch, access, manager, teams=False)

    assert access.readable(["ours", "gone"], "user") == {"ours", "gone"}
    assert manager.asked == [("gone", None), ("ours", None)]


def test_a_team_sees_its_own_campaigns_and_those_of_no_team(monkeypatch: pytest.MonkeyPatch, access: Any) -> None:
    _use(monkeypatch, access, Manager("blue"), teams=True)

    assert access.readable(["ours", "theirs", "nobodys"], "user") == {"ours", "nobodys"}


def test_where_there_are_teams_nobody_sees_a_campaign_whose_dag_is_gone(
    monkeypatch: pytest.MonkeyPatch, access: Any
) -> None:
    _use(monkeypatch, access, Manager("blue"), teams=True)

    assert access.readable(["gone"], "user") == set()
    assert not access.may_read("gone", "user")


@pytest.mark.parametrize("logs", [True, False])
def test_a_server_log_needs_the_right_to_read_logs(monkeypatch: pytest.MonkeyPatch, access: Any, logs: bool) -> None:
    _use(monkeypatch, access, Manager(logs=logs), teams=False)

    assert access.may_read("ours", "user")
    assert access.may_read_logs("ours", "user") is logs
