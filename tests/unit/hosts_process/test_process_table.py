"""Processes as /proc tells them: identities, families, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.hosts import process_table
from benchgate.hosts.process_table import LEASE_MARK, ProcessId, alive, end_all, family, identify, stat


def write_stat(folder: Path, pid: int, name: str, *, state: str = "S", started: int = 99) -> None:
    (folder / str(pid)).mkdir(parents=True, exist_ok=True)
    fields = [state, "1", "7", "8", *("0" for _ in range(13)), "1", "0", str(started), "0"]
    (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


@given(st.integers(1, 2**22), st.integers(0, 2**40))
def test_an_identity_survives_being_written_down(pid: int, started: int):
    assert ProcessId.parse(str(ProcessId(pid, started))) == ProcessId(pid, started)


@pytest.mark.parametrize("text", ["", "12", "a-b", "12-", "-5"])
def test_what_is_no_identity_is_refused(text: str):
    with pytest.raises(ValueError, match="invalid literal"):
        ProcessId.parse(text)


@pytest.mark.parametrize("name", ["python", "a b", ") 5 (", "VLLM::Worker (TP0)", "x) R 1 1"])
def test_any_process_name_is_read_past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(process_table, "PROC", tmp_path)
    write_stat(tmp_path, 42, name)

    found = stat(42)

    assert found is not None
    assert found.id == ProcessId(42, 99)
    assert (found.parent, found.group, found.session, found.zombie) == (1, 7, 8, False)


def test_a_later_process_with_the_same_number_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_table, "PROC", tmp_path)
    write_stat(tmp_path, 42, "old", started=99)
    old = identify(42)
    write_stat(tmp_path, 42, "new", started=100)

    assert old is not None
    assert not alive(old)


def test_a_zombie_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_table, "PROC", tmp_path)
    write_stat(tmp_path, 42, "done", state="Z")

    assert identify(42) is None


def test_a_process_whose_first_thread_has_ended_still_runs():
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('on', flush=True)\n"
        "ctypes.PyDLL(None).pthread_exit(0)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while " Z " not in (text := Path(f"/proc/{process.pid}/stat").read_text()):
            pass

        found = identify(process.pid)
        process.kill()
        process.wait()

    assert found is not None, text
    assert not alive(found)


def test_nobody_is_not_alive():
    assert not alive(None)
    assert not alive(ProcessId(2**22 + 1, 1))


def test_we_are_alive():
    assert alive(identify(os.getpid()))


def sleeper(**changes) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], **changes)


def test_a_family_is_found_by_its_mark_and_others_are_not():
    with sleeper(env={LEASE_MARK: "/mine"}) as mine, sleeper(env={LEASE_MARK: "/mine-too"}) as other:
        found = [process.id.pid for process in family("/mine")]
        mine.kill()
        other.kill()

    assert found == [mine.pid]


def test_a_family_is_found_by_its_session():
    with subprocess.Popen(["sh", "-c", "sleep 600 & sleep 600"], start_new_session=True) as leader:
        server = identify(leader.pid)
        assert server is not None
        while len(found := family("/none", server=server)) < 3:
            pass
        os.killpg(leader.pid, signal.SIGKILL)

    assert leader.pid in [process.id.pid for process in found]


def test_a_session_number_that_is_somebody_elses_now_is_left_alone():
    with sleeper(start_new_session=True) as other:
        now = identify(other.pid)
        assert now is not None
        before = ProcessId(other.pid, now.started - 1)

        found = family("/none", server=before)
        other.kill()

    assert found == []


def test_the_one_who_asks_is_never_in_the_family():
    code = (
        "import os; from benchgate.hosts.process_table import family, LEASE_MARK\n"
        "print([p.id.pid == os.getpid() for p in family(os.environ[LEASE_MARK])])"
    )
    env = {LEASE_MARK: "/mine", "PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_who_does_not_take_sigterm_gets_sigkill():
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"
    )
    env = {LEASE_MARK: "/deaf"}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE) as deaf:
        assert deaf.stdout is not None
        deaf.stdout.readline()

        ended = end_all(lambda: family("/deaf"), grace_s=0.2)

        assert deaf.wait(10) == -signal.SIGKILL
    assert [process.pid for process in ended] == [deaf.pid]


def test_who_takes_sigterm_gets_no_sigkill():
    with sleeper(env={LEASE_MARK: "/kind"}) as kind:
        end_all(lambda: family("/kind"), grace_s=10)

        assert kind.wait(10) == -signal.SIGTERM


def test_who_had_ended_before_it_could_be_told_is_not_said_to_have_been_ended():
    with sleeper(env={LEASE_MARK: "/brief"}) as brief:
        seen = family("/brief")
        brief.kill()
        brief.wait(10)

        ended = end_all(iter([seen, []]).__next__, grace_s=10)

    assert ended == []
