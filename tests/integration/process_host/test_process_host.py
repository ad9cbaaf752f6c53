"""The process host with a small real server: leases, ends of every kind, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchgate import secrets
from benchgate.errors import HostError, LeaseHeld
from benchgate.hosts.process import ProcessHost
from benchgate.hosts.process_table import LEASE_MARK, ProcessId, alive, environment, stat
from benchgate.records import FailureKind
from tests.integration.process_host.conftest import DUMMY, answers, eventually, marked, spec


def test_a_server_starts_answers_and_stops(host: ProcessHost):
    handle = host.start(spec())
    eventually(lambda: answers(host, handle))

    assert host.status(handle).running
    assert json.loads(host.http_post(handle, "/x", b'{"a": 1}')[1]) == {"got": '{"a": 1}'}
    ended = host.stop(handle)

    assert ended.signal == "SIGTERM"
    assert ended.oom_killed is False
    assert not host.status(handle).running
    assert host.stop(handle) == ended, "stopping twice is safe and says the same"


def test_the_log_has_both_streams_from_the_first_line_and_outlives_the_stop(host: ProcessHost):
    handle = host.start(spec())
    eventually(lambda: answers(host, handle))

    assert host.log_tail(handle, 2) == list(host.log_lines(handle))[-2:]
    host.stop(handle)

    assert set(host.log_lines(handle)) >= {b"out line\n", b"err line\n", b"ready\n"}


def test_a_held_placement_is_refused_and_the_holder_named(host: ProcessHost):
    handle = host.start(spec())

    with pytest.raises(LeaseHeld, match=r"local/cpu is held by arm plain of run tiny\.night-1.*pid \d+"):
        host.start(spec(arm="other"))

    host.stop(handle)
    host.stop(host.start(spec(arm="other")))


def test_one_of_many_simultaneous_starts_gets_the_lease(host: ProcessHost):
    def attempt(number: int) -> bool:
        try:
            host.start(spec(arm=f"arm-{number}"))
        except LeaseHeld:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        outcomes = list(pool.map(attempt, range(6)))

    assert outcomes.count(True) == 1


def test_two_placements_run_side_by_side(host: ProcessHost):
    first, second = host.start(spec()), host.start(spec(placement="cpu-2"))

    eventually(lambda: answers(host, first) and answers(host, second))
    host.stop(first)

    assert host.status(second).running, "stopping one leaves the other alone"
    host.stop(second)


def test_a_server_that_dies_by_itself_keeps_its_lease_until_it_is_stopped(host: ProcessHost):
    handle = host.start(spec("--exit", "3"))
    eventually(lambda: not host.status(handle).running)

    assert host.status(handle).exit.exit_code == 3
    with pytest.raises(LeaseHeld):
        host.start(spec())
    assert host.stop(handle).exit_code == 3
    host.stop(host.start(spec()))


def test_a_server_that_ignores_sigterm_is_killed_with_its_workers(host: ProcessHost, benchgate_home: Path):
    handle = host.start(spec("--ignore-term", "--workers", "plain,daemon,titled"))
    workers = eventually(lambda: worker_pids(host, handle, 3))
    assert any(LEASE_MARK not in environment(pid) for pid in workers), "one has lost the mark, as the test wants it"

    ended = host.stop(handle, grace_s=0.5)

    assert ended.signal == "SIGKILL"
    assert ended.oom_killed is False, "it was us"
    assert [pid for pid in workers if running(pid)] == []
    assert marked(benchgate_home) == []


def test_workers_do_not_outlive_a_server_that_exits_nicely(host: ProcessHost):
    handle = host.start(spec("--workers", "plain,daemon,titled"))
    workers = eventually(lambda: worker_pids(host, handle, 3))

    host.stop(handle, grace_s=0.5)

    assert [pid for pid in workers if running(pid)] == []


def test_a_killed_supervisor_takes_the_server_along_and_reap_finds_the_workers(host: ProcessHost):
    handle = host.start(spec("--workers", "plain,daemon,titled"))
    workers = eventually(lambda: worker_pids(host, handle, 3))
    server = json.loads(http(host, handle))["pid"]

    os.kill(ProcessId.parse(handle.id).pid, signal.SIGKILL)

    eventually(lambda: not running(server))
    assert not host.status(handle).running
    assert host.status(handle).exit.signal == "SIGKILL"
    removed = host.reap(run_is_over=lambda _run: False)
    assert [pid for pid in workers if running(pid)] == []
    assert len(removed) == len(workers), "what has lost its lease is removed although the run is not over"


def test_the_next_start_after_a_killed_supervisor_works_and_clears_what_was_left(host: ProcessHost):
    handle = host.start(spec("--workers", "daemon"))
    workers = eventually(lambda: worker_pids(host, handle, 1))
    os.kill(ProcessId.parse(handle.id).pid, signal.SIGKILL)
    eventually(lambda: not host.status(handle).running)

    after = host.start(spec(arm="next"))

    assert [pid for pid in workers if running(pid)] == []
    eventually(lambda: answers(host, after))
    host.stop(handle)
    assert host.status(after).running, "stopping the old launch does not touch the new one"
    host.stop(after)


def test_a_killed_owner_ends_its_server(host: ProcessHost):
    with subprocess.Popen(["sleep", "600"]) as owner:
        handle = host.start(spec("--workers", "daemon", owner_pid=owner.pid))
        workers = eventually(lambda: worker_pids(host, handle, 1))
        owner.kill()

    eventually(lambda: not host.status(handle).running)
    eventually(lambda: not alive(ProcessId.parse(handle.id)))
    assert [pid for pid in workers if running(pid)] == []
    host.stop(host.start(spec()))


def test_a_server_whose_state_was_removed_ends_too(host: ProcessHost, benchgate_home: Path):
    # e.g. a test's or a user's BENCHGATE_HOME that is deleted while a run is on: no housekeeping could find the server
    handle = host.start(spec("--workers", "daemon"))
    workers = eventually(lambda: worker_pids(host, handle, 1))

    shutil.rmtree(benchgate_home)

    eventually(lambda: not alive(ProcessId.parse(handle.id)))
    assert [pid for pid in workers if running(pid)] == []
    assert not benchgate_home.exists()


def test_a_new_run_waits_for_a_server_whose_owner_was_killed(host: ProcessHost):
    with subprocess.Popen(["sleep", "600"]) as owner:
        old = host.start(spec("--ignore-term", owner_pid=owner.pid))
        eventually(lambda: answers(host, old))
        owner.kill()

    handle = host.start(spec(run="tiny.night-2"))

    assert not host.status(old).running
    host.stop(handle)


def test_the_starter_may_end_and_the_server_lives_on(host: ProcessHost, benchgate_home: Path):
    script = (
        "import os; from tests.integration.process_host.conftest import spec\n"
        "from benchgate.hosts.process import ProcessHost\n"
        f"print(ProcessHost('local').start(spec(owner_pid={os.getpid()})).id)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)

    assert alive(ProcessId.parse(done.stdout.strip()))
    with pytest.raises(LeaseHeld):
        host.start(spec())


def test_a_start_for_an_owner_that_is_gone_is_refused(host: ProcessHost):
    gone = subprocess.Popen(["true"])
    gone.wait()

    with pytest.raises(HostError, match=f"process {gone.pid}, is gone"):
        host.start(spec(owner_pid=gone.pid))


def test_a_command_that_does_not_exist_leaves_the_placement_free(host: ProcessHost):
    with pytest.raises(HostError, match="local/cpu: the server's command 'no-such-engine' is not on this machine"):
        host.start(spec(argv=["no-such-engine"]))

    host.stop(host.start(spec()))


def test_reap_ends_only_servers_whose_run_is_over(host: ProcessHost):
    over = host.start(spec(run="tiny.old"))
    current = host.start(spec(run="tiny.new", placement="cpu-2"))

    removed = host.reap(run_is_over=lambda run: run == "tiny.old")

    assert len(removed) == 1
    assert "tiny.old" in removed[0]
    assert not host.status(over).running
    assert host.status(current).running
    host.stop(current)


def test_preflight_removes_a_server_whose_run_is_over_and_says_so(host: ProcessHost):
    old = host.start(spec(run="tiny.old"))

    findings = host.preflight(spec(run="tiny.new"), run_is_over=lambda run: run == "tiny.old")

    leftovers = next(finding for finding in findings if finding.check == "leftovers")
    assert leftovers.ok
    assert "tiny.old" in leftovers.removed[0]
    assert not host.status(old).running


def test_preflight_replaces_an_earlier_attempt_of_the_same_launch(host: ProcessHost):
    old = host.start(spec())

    findings = host.preflight(spec(), run_is_over=lambda _run: False)

    leftovers = next(finding for finding in findings if finding.check == "leftovers")
    assert leftovers.ok
    assert len(leftovers.removed) == 1
    assert not host.status(old).running


@pytest.mark.parametrize("after_s", [0.02, 0.06, 0.1, 0.14, 0.18, 0.25, 0.4])
def test_a_starter_that_is_killed_at_any_moment_leaves_nothing_for_long(
    host: ProcessHost, benchgate_home: Path, after_s: float
):
    script = (
        "from tests.integration.process_host.conftest import spec\n"
        "from benchgate.hosts.process import ProcessHost\n"
        "host = ProcessHost('local'); print('now', flush=True); host.start(spec(owner_pid=None))"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        starter.stdout.readline()
        time.sleep(after_s)
        starter.kill()

    findings = host.preflight(spec(), run_is_over=lambda _run: False)

    assert next(finding for finding in findings if finding.check == "leftovers").ok
    handle = host.start(spec())
    host.stop(handle)
    assert marked(benchgate_home) == []


def test_preflight_refuses_a_placement_that_a_living_run_holds(host: ProcessHost):
    handle = host.start(spec(run="tiny.other"))

    findings = host.preflight(spec(), run_is_over=lambda _run: False)

    leftovers = next(finding for finding in findings if finding.check == "leftovers")
    assert not leftovers.ok
    assert "tiny.other" in leftovers.message
    host.stop(handle)


def test_preflight_names_who_has_the_port(host: ProcessHost):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        findings = host.preflight(spec(port=port), run_is_over=lambda _run: False)

    finding = next(finding for finding in findings if finding.check == "port")
    assert (finding.ok, finding.kind) == (False, FailureKind.PORT_IN_USE)
    assert f"port {port} is taken by pid {os.getpid()}" in finding.message


def test_cpus_gpus_and_environment_reach_the_server_and_nothing_else_does(
    host: ProcessHost, monkeypatch: pytest.MonkeyPatch
):
    cpu = sorted(os.sched_getaffinity(0))[0]
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "of the worker only")
    monkeypatch.setenv("https_proxy", "http://proxy.invalid:3128")

    handle = host.start(spec(cpus=str(cpu), gpus=["2", "3"], env={"MODE": "x"}))
    told = json.loads(http(host, handle))

    assert told["cpus"] == [cpu]
    assert told["env"]["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert told["env"]["MODE"] == "x"
    assert "AIRFLOW__CORE__FERNET_KEY" not in told["env"]
    assert "https_proxy" not in told["env"]
    host.stop(handle)


def test_a_placement_without_gpus_sees_none(host: ProcessHost):
    handle = host.start(spec())

    assert json.loads(http(host, handle))["env"]["CUDA_VISIBLE_DEVICES"] == ""
    host.stop(handle)


def test_a_cpu_that_is_not_there_is_refused(host: ProcessHost):
    with pytest.raises(HostError, match=r"CPUs 0-4095 include .* may not use"):
        host.start(spec(cpus="0-4095"))


def test_a_secret_reaches_the_server_and_is_written_nowhere(host: ProcessHost, benchgate_home: Path):
    secret = "hush-4711-hush"

    handle = host.start(spec(secrets={"HF_TOKEN": secret}))
    told = json.loads(http(host, handle))
    supervisor = ProcessId.parse(handle.id).pid
    command_lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in (supervisor, told["pid"])]
    host.stop(handle)

    assert told["env"]["HF_TOKEN"] == secret
    assert secrets.mask(secret) == secrets.MASK
    assert all(secret not in line for line in command_lines)
    written = [path for path in benchgate_home.rglob("*") if path.is_file() and secret in path.read_text()]
    assert written == []


def test_logs_of_many_launches_do_not_pile_up(host: ProcessHost):
    handles = []
    for _ in range(7):
        handle = host.start(spec("--exit", "0"))
        eventually(lambda handle=handle: not host.status(handle).running)
        host.stop(handle)
        handles.append(handle)

    assert list(host.log_lines(handles[-1]))
    with pytest.raises(HostError, match="is gone"):
        list(host.log_lines(handles[0]))


def test_an_unknown_handle_is_a_clear_error(host: ProcessHost):
    handle = host.start(spec())
    host.stop(handle)

    with pytest.raises(HostError, match="nothing is known of launch 1-1"):
        host.status(type(handle)(**(vars(handle) | {"id": "1-1"})))


def test_a_start_that_nobody_waits_for_leaves_nothing(host: ProcessHost, benchgate_home: Path):
    """The starter is killed at any moment; with its owner gone too, the server must go."""
    script = (
        "import os; from tests.integration.process_host.conftest import spec\n"
        "from benchgate.hosts.process import ProcessHost\n"
        "ProcessHost('local').start(spec(owner_pid=os.getpid()))\n"
        "os.kill(os.getpid(), 9)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    subprocess.run([sys.executable, "-c", script], env=env, check=False)

    eventually(lambda: marked(benchgate_home) == [])
    host.stop(host.start(spec()))


def http(host: ProcessHost, handle) -> bytes:
    eventually(lambda: answers(host, handle))
    return host.http_get(handle, "/")[1]


def worker_pids(host: ProcessHost, handle, count: int) -> list[int] | None:
    answers(host, handle)
    found = re.findall(rb"worker \w+ (\d+)", b"".join(host.log_lines(handle)))
    return [int(pid) for pid in found] if len(found) == count else None


def running(pid: int) -> bool:
    found = stat(pid)
    return found is not None and not found.zombie and str(DUMMY) in Path(f"/proc/{pid}/cmdline").read_text()


def test_a_launch_that_is_tried_again_takes_its_own_lease_back_and_no_other(host: ProcessHost) -> None:
    handle = host.start(spec())  # and then its worker was killed

    with pytest.raises(LeaseHeld):
        host.start(spec())
    others = [host.remove_earlier(spec(**fields)) for fields in ({"arm": "triton"}, {"run": "tiny.night-2"})]
    removed = host.remove_earlier(spec())
    again = host.start(spec())

    assert others == [[], []]
    assert ["tiny.night-1" in what for what in removed] == [True]
    assert again.id != handle.id
    assert not host.status(handle).running
    assert host.status(again).running
