"""Preflight on a real Docker Engine: what is ours and stale goes, what is not ours is named and never touched."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchgate.hosts import docker_containers, docker_shm
from benchgate.hosts.base import Mount, PreflightFinding, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_facts import look
from benchgate.names import lease_name
from benchgate.records import FailureKind
from benchgate.seeding.volume import fill_volume
from benchgate.spec.hosts import HostSpec
from tests.integration.docker.test_server_life import wait_ready
from tests.support import base_image

pytestmark = pytest.mark.docker
MakeSpec = Callable[..., ServerSpec]

# A server that leaves a segment in the host's /dev/shm when it dies: it maps it while it lives.
HOLDER = (
    "import mmap, os, time\n"
    "fd = os.open('/dev/shm/{name}', os.O_CREAT | os.O_RDWR, 0o600); os.ftruncate(fd, 1 << 20)\n"
    "held = mmap.mmap(fd, 1 << 20); held[:] = b'x' * (1 << 20); os.close(fd)\n"
    "while True: time.sleep(1)"
)


def finding(found: list[PreflightFinding], check: str) -> PreflightFinding:
    """The finding of a check: a refusal if there is one."""
    return next((item for item in found if item.check == check and not item.ok), None) or next(
        item for item in found if item.check == check
    )


@pytest.fixture
def foreign(local_api: Any) -> Iterator[Callable[[str], str]]:
    """Start a container that is not ours."""
    made: list[str] = []

    def start(name: str) -> str:
        body = {"Image": base_image.TEST_SERVER, "Cmd": ["serve", "8000"], "HostConfig": {"NetworkMode": "none"}}
        made.append(local_api.create_container_from_config(body, name)["Id"])
        local_api.start(made[-1])
        return made[-1]

    yield start
    for container in made:
        local_api.remove_container(container, force=True, v=True)


def test_a_fit_host_passes_every_check(host: DockerHost, server: MakeSpec) -> None:
    found = host.preflight(server(), run_is_over=lambda _: False)

    assert [item.message for item in found if not item.ok] == []
    assert {item.check for item in found} >= {"leftovers", "image", "port", "shm", "host_memory", "disk", "seeds"}


def test_a_server_of_a_run_that_is_over_is_removed_and_named(host: DockerHost, server: MakeSpec) -> None:
    old = host.start(server(run="old"))
    wait_ready(host, old)

    found = host.preflight(server(), run_is_over=lambda run: run == "old")

    assert finding(found, "leftovers").ok
    assert any("run old" in words for words in finding(found, "leftovers").removed)
    assert not host.status(old).running
    assert host.start(server()).name == old.name


def test_an_earlier_attempt_of_the_same_launch_is_removed(host: DockerHost, server: MakeSpec) -> None:
    first = host.start(server())

    found = host.preflight(server(), run_is_over=lambda _: False)

    assert finding(found, "leftovers").ok
    assert docker_containers.inspect(host.engine, first.id) is None


def test_a_live_launch_of_another_run_is_named_and_left_alone(host: DockerHost, server: MakeSpec) -> None:
    other = host.start(server(run="other-night"))

    found = host.preflight(server(), run_is_over=lambda _: False)

    refused = finding(found, "leftovers")
    assert (refused.ok, refused.kind) == (False, FailureKind.LEASE_HELD)
    assert "arm marlin of run other-night" in refused.message
    assert refused.remedy
    assert host.status(other).running


def test_a_foreign_container_with_our_name_is_never_touched(
    host: DockerHost, server: MakeSpec, foreign: Callable[[str], str]
) -> None:
    container = foreign(lease_name(host.name, "a"))

    found = host.preflight(server(), run_is_over=lambda _: True)
    host.reap(run_is_over=lambda run: run.startswith(host.name))

    assert not finding(found, "leftovers").ok
    assert "which Benchgate did not create" in finding(found, "leftovers").message
    assert docker_containers.inspect(host.engine, container) is not None


def test_a_missing_image_is_refused_by_name(host: DockerHost, server: MakeSpec) -> None:
    found = host.preflight(server(image="vllm/none@sha256:" + "0" * 64), run_is_over=lambda _: False)

    refused = finding(found, "image")
    assert (refused.ok, refused.kind) == (False, FailureKind.IMAGE_MISSING)
    assert "vllm/none@sha256:000" in refused.message


def test_a_missing_client_image_says_how_to_get_it(host: DockerHost, server: MakeSpec) -> None:
    bare = DockerHost(host.name, host.spec.model_copy(update={"client_image": "benchgate/none:1"}), host.engine)

    refused = finding(bare.preflight(server(), run_is_over=lambda _: False), "image")

    assert "build.py client" in str(refused.remedy)


def test_more_pinned_memory_than_the_host_has_is_refused(host: DockerHost, server: MakeSpec) -> None:
    refused = finding(
        host.preflight(server(pinned_host_memory_gib=100_000.0), run_is_over=lambda _: False), "host_memory"
    )

    assert not refused.ok
    assert "the arm pins 100000 GiB" in refused.message
    assert "replicas" in str(refused.remedy)


def test_gpus_that_the_engine_cannot_give_are_refused_with_the_remedy(host: DockerHost, server: MakeSpec) -> None:
    refused = finding(host.preflight(server(gpus=["0", "1"]), run_is_over=lambda _: False), "gpu_memory")

    assert not refused.ok
    assert "could not select device driver" in refused.message
    assert "NVIDIA container toolkit" in str(refused.remedy)


def test_seeds_that_are_missing_empty_or_cut_are_refused(
    host: DockerHost, server: MakeSpec, local_api: Any, tmp_path: Any
) -> None:
    volume = f"benchgate-test-{uuid.uuid4().hex[:8]}"
    vocab = tmp_path / "o200k_base.tiktoken"
    vocab.write_text("IQ== 0\n")
    with_seed = server(mounts=[Mount(volume, "/vocab")])

    absent = finding(host.preflight(with_seed, run_is_over=lambda _: False), "seeds")
    local_api.create_volume(volume)
    try:
        empty = finding(host.preflight(with_seed, run_is_over=lambda _: False), "seeds")
        fill_volume(host.engine, volume, vocab, image=base_image.TEST_CLIENT, report=lambda _: None)
        whole = finding(host.preflight(with_seed, run_is_over=lambda _: False), "seeds")
        cut_it(host, volume)
        cut = finding(host.preflight(with_seed, run_is_over=lambda _: False), "seeds")
        no_folder = replace(with_seed, mounts=[Mount("/no/such/folder", "/vocab")])
        folder = finding(host.preflight(no_folder, run_is_over=lambda _: False), "seeds")
    finally:
        local_api.remove_volume(volume, force=True)

    assert (absent.ok, empty.ok, whole.ok, cut.ok, folder.ok) == (False, False, True, False, False)
    assert f"no volume {volume}" in absent.message
    assert "is empty" in empty.message
    assert "o200k_base.tiktoken" in cut.message
    assert "/no/such/folder" in folder.message


def cut_it(host: DockerHost, volume: str) -> None:
    """Somebody damages a seed on the host."""
    from benchgate.hosts.docker_create import helper_body

    body = helper_body(
        base_image.TEST_CLIENT,
        "open('/v/o200k_base.tiktoken', 'w').close()",
        labels=docker_containers.helper_labels("helper"),
        mounts=[Mount(volume, "/v", read_only=False)],
    )
    assert docker_containers.run_helper(host.engine, body).exit_code == 0


def test_a_published_port_that_is_taken_is_refused(host: DockerHost, server: MakeSpec, local_api: Any) -> None:
    spec = HostSpec.model_validate({**host.spec.model_dump(), "address": "127.0.0.1"})
    open_host = DockerHost(host.name, spec, host.engine)
    first = open_host.start(server(port=18_765, argv=["serve", "18765"], internal_network=False))

    other = server(placement="b", port=18_765, internal_network=False)
    refused = finding(open_host.preflight(other, run_is_over=lambda _: False), "port")

    assert first.base_url == "http://127.0.0.1:18765"
    assert (refused.ok, refused.kind) == (False, FailureKind.PORT_IN_USE)
    assert first.name in refused.message


def test_shared_memory_that_a_server_held_goes_with_it_and_other_segments_stay(
    host: DockerHost, server: MakeSpec
) -> None:
    ours, other = f"benchgate-test-{uuid.uuid4().hex}", f"benchgate-test-{uuid.uuid4().hex}"
    leave = f"open('/dev/shm/{other}', 'wb').write(b'y' * (2 << 20))"
    stranger = {
        "Image": base_image.TEST_CLIENT,
        "Entrypoint": ["python3", "-c", leave],
        "Labels": docker_containers.helper_labels("helper"),
        "HostConfig": {"IpcMode": "host"},
    }
    docker_containers.run_helper(host.engine, stranger)
    try:
        spec = server(shm_size_gib=None, entrypoint=["python3", "-c", HOLDER.format(name=ours)], argv=[])
        handle = host.start(spec)
        for _ in range(50):
            held = docker_shm.own_segments(host.engine, base_image.TEST_CLIENT, handle.id)
            if held:
                break
        named = finding(host.preflight(server(placement="b"), run_is_over=lambda _: False), "shm")
        host.stop(handle, grace_s=1)
        after = {item.name for item in look(host.engine, base_image.TEST_CLIENT).segments}

        assert held == [ours]
        assert other in named.message
        assert ours not in named.message
        assert ours not in after
        assert other in after
    finally:
        docker_shm.remove_segments(host.engine, base_image.TEST_CLIENT, [ours, other])


def test_facts_of_the_host_are_what_the_engine_says(host: DockerHost, local_api: Any) -> None:
    facts = host.facts()

    info = local_api.info()
    assert facts.engine_version == info["ServerVersion"]
    assert facts.cpu_count == info["NCPU"]
    assert facts.free_memory_gib is not None
    assert facts.memory_gib is not None
    assert 0 < facts.free_memory_gib < facts.memory_gib
    assert facts.gpu_model is None
    assert facts.gpu_count is None
