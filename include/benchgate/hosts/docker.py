"""The host that is a Docker Engine, local or remote: servers and load generators are labelled containers on it."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from docker.errors import APIError, NotFound

from benchgate import names, secrets
from benchgate.errors import HostError
from benchgate.hosts import (
    docker_client,
    docker_ended,
    docker_facts,
    docker_gpu,
    docker_preflight,
    docker_shm,
    docker_telemetry,
    gpu_memory,
    reaper,
)
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount, PreflightFinding, ServerHandle, ServerSpec, ServerStatus, never
from benchgate.hosts.docker_connections import connection_of
from benchgate.hosts.docker_create import server_body
from benchgate.hosts.docker_engine import DockerEngine, api_message
from benchgate.hosts.docker_network import ensure_internal_network
from benchgate.hosts.docker_probe import Probe, probe_name
from benchgate.records import ExitInfo, GpuSample, HostFacts
from benchgate.spec.hosts import HostSpec

LONGEST_LINE = 1 << 16
ANY_PORT = 8000  # for a placement with port 0: inside its own network namespace every port is free


class DockerHost:
    """One Docker Engine of the inventory. Connects on first use; holds no state that another process would need."""

    def __init__(self, name: str, spec: HostSpec, engine: DockerEngine | None = None) -> None:
        """``engine`` is made from the inventory entry unless it is given (a connection that was looked up already)."""
        self.name = name
        self.spec = spec
        self.engine = engine or DockerEngine(name, connection_of(name, spec))
        self._probes: dict[str, Probe] = {}
        self._run = containers.NO_RUN  # on whose behalf helpers look at the host

    def facts(self) -> HostFacts:
        """What the engine and the machine say about themselves now. What nobody says stays None."""
        with containers.on_behalf_of(self._run):
            return docker_facts.host_facts(self.engine, self.spec)

    def preflight(
        self, spec: ServerSpec, *, run_is_over: Callable[[str], bool], launch_is_over: Callable[[str], bool] = never
    ) -> list[PreflightFinding]:
        """See :meth:`benchgate.hosts.base.Host.preflight`."""
        self._run = spec.run
        with containers.on_behalf_of(spec.run):
            return docker_preflight.preflight(
                self.engine, self.spec, spec, run_is_over=run_is_over, launch_is_over=launch_is_over
            )

    def remove_earlier(self, spec: ServerSpec) -> list[str]:
        """See :meth:`benchgate.hosts.base.Host.remove_earlier`."""
        return docker_preflight.remove_earlier(self.engine, spec)

    def start(self, spec: ServerSpec) -> ServerHandle:
        """Create and start the server under the placement's fixed name.

        With port 0, ``{port}`` in argv becomes a port of the server's own network namespace.

        Raises:
            LeaseHeld: another launch has the placement; the message names it.
            HostError: image, GPU, mount or port is not there; nothing is left behind.
        """
        for value in spec.secrets.values():
            secrets.register(value)
        if spec.port == 0:
            argv = [part.replace("{port}", str(ANY_PORT)) for part in spec.argv]
            spec = replace(spec, port=ANY_PORT, argv=argv)
        name = names.lease_name(self.name, spec.placement)
        publish = self.spec.address is not None and not spec.internal_network
        network = ensure_internal_network(self.engine) if spec.internal_network else "bridge"
        labels = names.labels(
            campaign=spec.campaign,
            run=spec.run,
            arm=spec.arm,
            placement=f"{self.name}/{spec.placement}",
            role="server",
            created=containers.now_utc(),
        )
        container = containers.create(
            self.engine, name, server_body(spec, labels=labels, network=network, publish=publish)
        )
        try:
            containers.start(self.engine, name, container)
            found = containers.inspect(self.engine, container)
            if found is None:
                raise HostError(f"host {self.name}: container {name} was removed from outside as it started")
        except BaseException:
            # a failed setup never gets its teardown: whatever interrupts this leaves nothing behind
            with contextlib.suppress(HostError):
                containers.remove(self.engine, container)
            raise
        return ServerHandle(
            host=self.name,
            placement=spec.placement,
            name=name,
            id=container,
            base_url=f"http://{self.spec.address if publish else '127.0.0.1'}:{spec.port}",
            started_at=str(found["State"]["StartedAt"]),
        )

    def status(self, handle: ServerHandle) -> ServerStatus:
        """Is it running, and how did it end. Removed from outside: it has ended, and nobody knows how."""
        found = containers.inspect(self.engine, handle.id)
        if found is None:
            return ServerStatus(running=False, exit=docker_ended.exit_of(handle.name, handle.id) or ExitInfo())
        return ServerStatus(running=bool(found["State"]["Running"]), exit=containers.exit_info(found["State"]))

    def log_lines(self, handle: ServerHandle) -> Iterator[bytes]:
        """The log so far, from its first line, with line ends; after :meth:`stop` the kept copy.

        Raises:
            HostError: the container was removed by somebody else, and its log with it.
        """
        try:
            with self.engine.connecting():
                chunks = self.engine.api.logs(handle.id, stdout=True, stderr=True, stream=True, follow=False)
                yield from _lines(chunks)
        except NotFound:
            kept = docker_ended.log_of(handle.name, handle.id)
            if kept is None:
                raise HostError(
                    f"host {self.name}: container {handle.name} is gone, and its log with it",
                    remedy="was it removed by hand? the run's artifacts have the log up to the last look",
                ) from None
            yield from kept
        except APIError as error:
            raise HostError(
                f"host {self.name}: cannot read the log of container {handle.name}: {api_message(error)}"
            ) from error

    def log_tail(self, handle: ServerHandle, lines: int) -> list[bytes]:
        """See :meth:`benchgate.hosts.base.Host.log_tail`. Docker finds the lines from the end of its own file."""
        with self.engine.doing(f"cannot read the log of container {handle.name}"):
            chunks = self.engine.api.logs(handle.id, stdout=True, stderr=True, stream=True, follow=False, tail=lines)
            return list(deque(_lines(chunks), maxlen=lines))

    def http_get(self, handle: ServerHandle, path: str, *, timeout_s: float = 10.0) -> tuple[int, bytes]:
        """GET on the server from inside its network namespace. HostError when no answer comes."""
        return self._probe(handle).request("GET", path, None, timeout_s=timeout_s)

    def http_post(self, handle: ServerHandle, path: str, body: bytes, *, timeout_s: float = 60.0) -> tuple[int, bytes]:
        """POST JSON on the server from inside its network namespace. HostError when no answer comes."""
        return self._probe(handle).request("POST", path, body, timeout_s=timeout_s)

    def gpu_samples(self, handle: ServerHandle) -> list[GpuSample]:
        """The GPUs of the server's container now; empty where it has none. HostError when the engine is gone."""
        return docker_telemetry.samples(self.engine, handle.id)

    def _probe(self, handle: ServerHandle) -> Probe:
        if handle.id not in self._probes:
            self._probes[handle.id] = Probe(self.engine, self.spec.client_image, handle)
        return self._probes[handle.id]

    def run_client(
        self,
        handle: ServerHandle,
        args: list[str],
        output: Path,
        *,
        on_line: Callable[[str], None],
        timeout_s: float,
        mounts: Sequence[Mount] = (),
    ) -> int:
        """Run the load generator in the client image beside the server; its files end up in ``output``."""
        return docker_client.run_client(
            self.engine,
            self.spec.client_image,
            handle,
            args,
            output,
            on_line=on_line,
            timeout_s=timeout_s,
            mounts=mounts,
        )

    def stop_client(self, handle: ServerHandle) -> None:
        """See :meth:`benchgate.hosts.base.Host.stop_client`."""
        docker_client.stop_own(self.engine, handle.name)

    def kill_client(self, handle: ServerHandle) -> None:
        """Kill the load generator that this process runs beside a server at once (its task is killed), if there is one.

        A task that was given up as lost may be killed late: the next one measures on the same server by then.
        """
        docker_client.kill_own(self.engine, handle.name)

    def stop(self, handle: ServerHandle, *, grace_s: float = 10.0) -> ExitInfo:
        """Stop the server, keep its log and exit, remove it and what stands beside it. Safe to call twice.

        Of two at once, one does it, and the other waits and gives the same answer. The container, and with it the
        lease, goes even when stopping it or keeping its log fails.
        """
        with docker_ended.one_at_a_time(handle.name):
            return self._stop(handle, grace_s)

    def _stop(self, handle: ServerHandle, grace_s: float) -> ExitInfo:
        for beside in (docker_client.client_container_name(handle.name), probe_name(handle.name)):
            self._remove_beside(handle, beside)
        self._probes.pop(handle.id, None)
        found = containers.inspect(self.engine, handle.id)
        if found is None:
            return docker_ended.exit_of(handle.name, handle.id) or ExitInfo()
        self._run = found["Config"]["Labels"].get(names.LABEL_RUN, containers.NO_RUN)
        with containers.on_behalf_of(self._run):
            segments = docker_shm.own_segments(self.engine, self.spec.client_image, handle.id)
            try:
                return self._end(handle, grace_s)
            finally:
                containers.remove(self.engine, handle.id)
                with contextlib.suppress(HostError):  # the next preflight names what stayed
                    docker_shm.remove_segments(self.engine, self.spec.client_image, segments)

    def _end(self, handle: ServerHandle, grace_s: float) -> ExitInfo:
        """Stop the server and keep its log and how it ended."""
        self._ask_to_stop(handle, grace_s)
        ended = containers.inspect(self.engine, handle.id)
        if ended is None:
            return ExitInfo()
        how = containers.exit_info(ended["State"])
        try:
            docker_ended.keep(handle.name, handle.id, self.log_lines(handle), how)
        except HostError:
            left = containers.inspect(self.engine, handle.id)
            if left is not None and left["State"]["Status"] not in ("removing", "dead"):
                raise
            # somebody else, on another worker, removes it at this moment: its log is theirs, how it ended is known
        return how

    def _remove_beside(self, handle: ServerHandle, name: str) -> None:
        """Remove our client or probe of this server; one that belongs to a later server of the placement stays."""
        found = containers.inspect(self.engine, name)
        if found is None or (found["Config"].get("Labels") or {}).get(names.LABEL_OWNER) != names.OWNER:
            return
        if found["HostConfig"]["NetworkMode"] == f"container:{handle.id}":
            containers.remove(self.engine, found["Id"])

    def _ask_to_stop(self, handle: ServerHandle, grace_s: float) -> None:
        api = self.engine.api_with_timeout(grace_s + 60)
        try:
            with self.engine.doing(f"cannot stop container {handle.name}"):
                api.stop(handle.id, timeout=round(grace_s))
        finally:
            api.close()

    def gpu_memory_returned(self, gpus: Sequence[str], *, timeout_s: float = 60.0) -> bool | None:
        """See :meth:`benchgate.hosts.base.Host.gpu_memory_returned`."""
        with containers.on_behalf_of(self._run):
            look = partial(docker_gpu.list_gpus, self.engine, self.spec.client_image)
            return gpu_memory.returned(look, gpus, timeout_s=timeout_s)

    def reap(self, *, run_is_over: Callable[[str], bool]) -> list[str]:
        """Remove everything on this engine that is labelled ours and whose run is over."""
        return reaper.reap_engine(self.engine, run_is_over=run_is_over, image=self.spec.client_image)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines, with their ends, of a stream that comes in arbitrary pieces."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if len(rest) > LONGEST_LINE:  # a line without an end must not fill the memory
            yield rest
            rest = b""
    if rest:
        yield rest
