"""Request bodies of containers: what is asked of the engine, and what never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker_create import client_body, gpu_requests, helper_body, mount_body, probe_body, server_body

SPEC = ServerSpec(
    campaign="c", run="c.n1", arm="marlin", placement="quad-a", argv=["--port", "8000"], env={"B": "2", "A": "1"},
    port=8000, image="vllm@sha256:0", gpus=["4", "5"],
)  # fmt: skip


def test_the_server_gets_the_gpus_of_its_placement_and_host_ipc() -> None:
    body = server_body(SPEC, labels={"io.benchgate.run": "c.n1"}, network="net")

    host = body["HostConfig"]
    assert host["DeviceRequests"][0]["DeviceIDs"] == ["4", "5"]
    assert host["IpcMode"] == "host"
    assert "ShmSize" not in host
    assert host["NetworkMode"] == "net"
    assert body["Env"] == ["A=1", "B=2"]
    assert body["Labels"] == {"io.benchgate.run": "c.n1"}


def test_a_shm_size_means_its_own_ipc() -> None:
    host = server_body(replace(SPEC, shm_size_gib=16.0), labels={}, network="n")["HostConfig"]

    assert host["IpcMode"] == "private"
    assert host["ShmSize"] == 16 * 2**30


def test_the_server_is_never_removed_by_itself_and_has_no_privileges() -> None:
    body = server_body(SPEC, labels={}, network="n")

    host = body["HostConfig"]
    assert "AutoRemove" not in host
    assert host["CapDrop"] == ["ALL"]
    assert "no-new-privileges" in host["SecurityOpt"]
    assert host["RestartPolicy"]["Name"] == "no"
    assert "PortBindings" not in host


def test_a_server_without_an_image_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an image"):
        server_body(replace(SPEC, image=None), labels={}, network="n")


@pytest.mark.parametrize(
    ("gpus", "count", "ids"), [(["0"], 0, ["0"]), (["GPU-1f"], 0, ["GPU-1f"]), (["all"], -1, None)]
)
def test_gpus_are_asked_for_by_name_or_all(gpus: list[str], count: int, ids: list[str] | None) -> None:
    request = gpu_requests(gpus)[0]

    assert (request["Count"], request["DeviceIDs"], request["Capabilities"]) == (count, ids, [["gpu"]])


def test_a_cpu_placement_asks_for_no_gpu() -> None:
    assert gpu_requests([]) == []


def test_paths_are_bound_and_names_are_volumes_read_only() -> None:
    assert mount_body(Mount("/srv/hf", "/hf")) == {
        "Type": "bind", "Source": "/srv/hf", "Target": "/hf", "ReadOnly": True,
    }  # fmt: skip
    assert mount_body(Mount("benchgate-vocab", "/vocab"))["Type"] == "volume"


def test_our_own_containers_are_read_only_and_without_privileges() -> None:
    bodies = [
        client_body("client", ["bench"], server_id="s1", labels={}),
        probe_body("client", server_id="s1", labels={}),
        helper_body("client", "print()", labels={}),
    ]
    for body in bodies:
        assert body["HostConfig"]["ReadonlyRootfs"] is True
        assert body["HostConfig"]["CapDrop"] == ["ALL"]
        assert "AutoRemove" not in body["HostConfig"]
    assert [body["HostConfig"]["NetworkMode"] for body in bodies] == ["container:s1", "container:s1", "none"]
    assert bodies[0]["User"] != "0:0"
    assert bodies[0]["Cmd"] == ["bench", "--output", "/out"]


def test_a_helper_has_a_network_and_an_environment_only_when_it_is_given_them() -> None:
    closed = helper_body("client", "print()", labels={})
    fetching = helper_body("client", "print()", labels={}, network="bridge", env={"B": "2", "A": "1"})

    assert (closed["HostConfig"]["NetworkMode"], closed["Env"]) == ("none", [])
    assert (fetching["HostConfig"]["NetworkMode"], fetching["Env"]) == ("bridge", ["A=1", "B=2"])
    assert fetching["HostConfig"]["CapDrop"] == ["ALL"]
