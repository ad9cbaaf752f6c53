"""How containers ended, who holds a name, and what a stamped log holds that is new."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate import names
from benchgate.hosts import docker_network
from benchgate.hosts.docker_client import split_stamped, time_of
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_containers import create_remedy, describe_holder, exit_info
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.docker_network import winner
from benchgate.hosts.reaper import LIFETIMES, describe, is_stale, stale_containers

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("state", "code", "signal", "oom"),
    [
        ({"Running": True, "ExitCode": 0, "OOMKilled": False}, None, None, None),
        ({"Running": False, "Status": "created", "ExitCode": 0}, None, None, None),
        ({"Running": False, "Status": "exited", "ExitCode": 0, "OOMKilled": False}, 0, None, False),
        ({"Running": False, "Status": "exited", "ExitCode": 1, "OOMKilled": False}, 1, None, False),
        ({"Running": False, "Status": "exited", "ExitCode": 137, "OOMKilled": True}, 137, "SIGKILL", True),
        ({"Running": False, "Status": "exited", "ExitCode": 139, "OOMKilled": False}, 139, "SIGSEGV", False),
        ({"Running": False, "Status": "exited", "ExitCode": 255, "OOMKilled": False}, 255, None, False),
    ],
)
def test_how_a_container_ended(state: dict[str, Any], code: int | None, signal: str | None, oom: bool | None) -> None:
    how = exit_info(state)

    assert (how.exit_code, how.signal, how.oom_killed) == (code, signal, oom)


def test_the_holder_of_a_lease_is_named_by_its_labels() -> None:
    labels = names.labels(campaign="c", run="c.n1", arm="marlin", placement="h/a", role="server", created="2026-06-01")
    ours = {"Config": {"Labels": labels}, "State": {"Status": "running"}}
    foreign = {"Config": {"Labels": None}, "State": {"Status": "exited"}}

    assert describe_holder("benchgate-h-a", ours) == (
        "arm marlin of run c.n1 (campaign c), container benchgate-h-a (running), since 2026-06-01"
    )
    assert describe_holder("benchgate-h-a", foreign) == (
        "container benchgate-h-a, which Benchgate did not create (exited)"
    )


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "NVIDIA container toolkit"),
        ("No such image: vllm/vllm-openai:none", "pull"),
        ("invalid mount config for type bind: bind source path does not exist: /x", "create that folder"),
        ("Bind for 0.0.0.0:8000 failed: port is already allocated", "another port"),
        ("Requested CPUs are not available - requested 0-99, available: 0-1", None),
        ("no space left on device", "docker system df"),
    ],
)
def test_refusals_of_the_engine_have_a_remedy(text: str, remedy: str | None) -> None:
    found = create_remedy(text)

    assert found is None if remedy is None else remedy in str(found)


def test_only_new_lines_are_told_and_only_once() -> None:
    first = b"2026-06-01T10:00:00.000000001Z one\n2026-06-01T10:00:00.000000002Z two\n"
    again = first + b"2026-06-01T10:00:00.000000003Z three\n"

    lines, last = split_stamped(first, "")
    more, _ = split_stamped(again, last)

    assert lines == ["one", "two"]
    assert more == ["three"]


def test_of_a_progress_bar_only_its_last_state_is_told() -> None:
    lines, _ = split_stamped(b"2026-06-01T10:00:00.1Z 10 %\r20 %\r30 %\r\n", "")

    assert lines == ["30 %"]


@given(st.binary(max_size=400), st.text(max_size=30))
def test_no_log_content_breaks_the_reader(raw: bytes, last: str) -> None:
    lines, newest = split_stamped(raw, last)

    assert isinstance(lines, list)
    assert newest >= last


def test_stamps_are_read_as_utc_seconds() -> None:
    assert time_of("1970-01-02T00:00:01.999999999Z") == 86_401


def test_everybody_settles_on_the_same_network() -> None:
    networks = [
        {"Id": "b", "Created": "2026-06-01T10:00:00.2Z"},
        {"Id": "z", "Created": "2026-06-01T10:00:00.1Z"},
        {"Id": "a", "Created": "2026-06-01T10:00:00.2Z"},
    ]

    assert winner(networks) == networks[1]
    assert winner(networks[::2])["Id"] == "a"  # type: ignore[index]
    assert winner([]) is None


def test_an_older_network_that_is_listed_late_wins_and_ours_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines before 25 list a network only some time after the moment that it says it was created at."""
    listed: list[dict[str, Any]] = []
    ours = {"Id": "ours", "Name": docker_network.NETWORK, "Created": "2026-06-01T00:00:01Z", "Internal": True}
    older = {**ours, "Id": "older", "Created": "2026-06-01T00:00:00Z"}

    def create(*_: object, **__: object) -> dict[str, str]:
        listed.append(ours)
        return {"Id": "ours"}

    engine = MagicMock()
    engine.api.networks.side_effect = lambda names: list(listed)
    engine.api.create_network.side_effect = create
    engine.api.remove_network.side_effect = lambda made: listed.remove(ours) if made == "ours" else None
    monkeypatch.setattr("benchgate.hosts.docker_network.time.sleep", lambda _: listed.append(older))

    assert docker_network.ensure_internal_network(engine) == "older"
    assert listed == [older]


def test_a_container_goes_when_its_run_is_over_and_not_before() -> None:
    labels = {names.LABEL_RUN: "c.n1", names.LABEL_CREATED: NOW.isoformat()}

    assert is_stale(labels, age=timedelta(0), run_is_over=lambda run: run == "c.n1")
    assert not is_stale(labels, age=timedelta(days=9), run_is_over=lambda run: False)


def test_a_helper_of_no_run_goes_when_it_is_past_any_use() -> None:
    labels = {names.LABEL_RUN: "none", names.LABEL_CREATED: NOW.isoformat(), names.LABEL_ROLE: "helper"}

    assert not is_stale(labels, age=timedelta(minutes=5), run_is_over=lambda run: True)
    assert is_stale(labels, age=LIFETIMES["helper"] + timedelta(seconds=1), run_is_over=lambda run: False)


@pytest.mark.parametrize(
    ("told", "ages"), [("2026-06-01T00:05:00.123456789Z", []), ("2026-06-01T02:11:00+02:00", ["benchgate-look"])]
)
def test_how_old_a_helper_is_the_engines_own_clock_says(told: str, ages: list[str]) -> None:
    """Whoever made it may have another clock: here one that is a day behind."""
    labels = {names.LABEL_RUN: "none", names.LABEL_CREATED: (NOW - timedelta(days=1)).isoformat()}
    helper = {"Names": ["benchgate-look"], "Labels": {**labels, names.LABEL_ROLE: "helper"}}
    engine = DockerEngine("far", EngineConnection("unix:///nowhere"))
    engine._api = Mock()
    engine._api.info.return_value = {"SystemTime": told}
    engine._api.containers.return_value = [{**helper, "Created": int(NOW.timestamp())}]

    found = stale_containers(engine, run_is_over=lambda run: False)

    assert [item["Names"][0] for item in found] == ages


def test_what_was_removed_is_told_in_words() -> None:
    labels = names.labels(campaign="c", run="c.n1", arm="marlin", placement="h/a", role="client", created="x")

    said = describe({"Names": ["/benchgate-h-a-client"], "Status": "Up 3 minutes", "Labels": labels})

    assert said == "client benchgate-h-a-client (Up 3 minutes) of arm marlin, run c.n1"
