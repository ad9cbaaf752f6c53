"""What the process host writes down, and how it reads damaged notes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.errors import HostError
from benchgate.hosts import get_host
from benchgate.hosts.process import ProcessHost
from benchgate.hosts.process_start import cpu_list
from benchgate.hosts.process_state import LaunchState, PlacementFolder
from benchgate.hosts.process_table import ProcessId, identify
from benchgate.spec.hosts import HostSpec, Inventory, PlacementSpec

IDS = st.builds(ProcessId, st.integers(1, 2**22), st.integers(0, 2**40))


def state(**changes) -> LaunchState:
    values = {
        "host": "local",
        "placement": "cpu",
        "lease": "benchgate-local-cpu",
        "campaign": "tiny",
        "run": "tiny.night-1",
        "arm": "plain",
        "port": 8000,
        "argv": ["server", "--x"],
        "started_at": "2026-11-30T00:00:00+00:00",
        "supervisor": ProcessId(4711, 5),
    }
    return LaunchState(**(values | changes))


@given(
    st.builds(
        state,
        supervisor=IDS,
        server=st.none() | IDS,
        owner=st.none() | IDS,
        argv=st.lists(st.text(max_size=9), max_size=3),
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | st.just("SIGKILL"),
        oom_killed=st.none() | st.booleans(),
    )
)
def test_a_state_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, written: LaunchState):
    folder = PlacementFolder(tmp_path_factory.mktemp("s"), "benchgate-local-cpu")

    folder.write(written)
    folder.set_current(str(written.supervisor))

    assert folder.read(str(written.supervisor)) == written
    assert folder.current() == written


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"supervisor": "x"}', "null"])
def test_a_damaged_state_is_none(tmp_path: Path, content: str):
    folder = PlacementFolder(tmp_path, "lease")
    folder.write(state())
    folder.set_current("4711-5")
    (folder.launch_dir("4711-5") / "state.json").write_text(content)

    assert folder.current() is None


@pytest.mark.parametrize("content", ["", "../../etc", "x"])
def test_a_damaged_pointer_is_none(tmp_path: Path, content: str):
    folder = PlacementFolder(tmp_path, "lease")
    folder.write(state())
    (folder.path / "current").write_text(content)

    assert folder.current() is None


def test_a_lease_is_held_once_and_freed_by_closing(tmp_path: Path):
    folder = PlacementFolder(tmp_path, "lease")
    lock = folder.acquire()
    assert lock is not None

    assert PlacementFolder(tmp_path, "lease").acquire() is None
    os.close(lock)

    again = folder.acquire()
    assert again is not None
    os.close(again)


def test_a_holder_is_one_whose_supervisor_lives(tmp_path: Path):
    folder = PlacementFolder(tmp_path, "lease")
    me = identify(os.getpid())
    assert me is not None
    for supervisor, held in ((me, True), (ProcessId(me.pid, me.started - 1), False)):
        folder.write(state(supervisor=supervisor))
        folder.set_current(str(supervisor))

        assert (folder.holder() is not None) is held


@pytest.mark.parametrize("text", ["", "x", "1-", "0,,1", "-1", "3-2", "99999"])
def test_a_cpu_set_that_cannot_be_is_refused_with_its_text(text: str):
    with pytest.raises(HostError, match="local/cpu"):
        cpu_list(text, "local/cpu")


def test_a_cpu_set_becomes_a_list():
    first = min(os.sched_getaffinity(0))

    assert cpu_list(None, "x") == "-"
    assert cpu_list(f"{first}-{first},{first}", "x") == str(first)


def test_a_host_is_found_by_name_and_an_unknown_one_names_the_known():
    inventory = Inventory(hosts={"here": HostSpec(kind="process", placements={"cpu": PlacementSpec()})})

    assert isinstance(get_host("here", inventory), ProcessHost)
    with pytest.raises(HostError, match=r"no host 'there'.*hosts are: here"):
        get_host("there", inventory)
