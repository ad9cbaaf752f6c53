"""HTTP from inside a server's network namespace: a waiting container beside the server, and requests executed in it.

The server publishes no port and has no way out; a process in its namespace reaches it on 127.0.0.1, on local and on
remote engines alike. One probe serves a whole launch; each request is a detached exec whose answer is fetched as a
file, so no connection is held open while a slow server thinks.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
import time
import uuid
from pathlib import Path

from docker.errors import APIError, NotFound

from benchgate import names
from benchgate.errors import HostError, LeaseHeld
from benchgate.hosts import docker_containers as containers
from benchgate.hosts import docker_direct
from benchgate.hosts.base import ServerHandle
from benchgate.hosts.docker_archive import pack_bytes
from benchgate.hosts.docker_create import PROBE_SCRATCH, probe_body
from benchgate.hosts.docker_engine import DockerEngine, api_message

_MAKER_S = 20.0  # after this, whoever created the probe and did not start it was killed
_PAUSE_S = 0.25
_TRIES = 100
_REQUEST_SCRIPT = Path(__file__).with_name("docker_agent_request.py")


def probe_name(lease: str) -> str:
    """Name of the probe beside the server that holds ``lease``."""
    return f"{lease}-probe"


def port_of(handle: ServerHandle) -> int:
    """The port in a handle's base URL."""
    return int(handle.base_url.rsplit(":", 1)[1].split("/", 1)[0])


class Probe:
    """Requests to one server. Any process may make one for the same handle; they share the container.

    A server on a bridge of this machine is asked directly (``docker_direct.py``).
    """

    def __init__(self, engine: DockerEngine, image: str, handle: ServerHandle) -> None:
        self.engine = engine
        self.image = image
        self.handle = handle
        self._container: str | None = None
        self._bridge: str | None = None  # the server's address on this machine; empty: only the probe reaches it

    def request(self, method: str, path: str, body: bytes | None, *, timeout_s: float) -> tuple[int, bytes]:
        """Send one request and return status and body.

        Raises:
            HostError: the server did not answer (refused, reset, too slow), or the probe cannot run.
        """
        where = f"host {self.engine.host}: {method} {path} in container {self.handle.name}"
        if self._bridge is None:
            self._bridge = docker_direct.bridge_address(self.engine, self.handle) or ""
        if self._bridge:
            url = f"http://{self._bridge}:{port_of(self.handle)}{path}"
            with contextlib.suppress(docker_direct.NotReachable):
                return docker_direct.request(where, url, method, body, timeout_s=timeout_s)
        return self._request_inside(where, method, path, body, timeout_s)

    def _request_inside(
        self, where: str, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, bytes]:
        token = uuid.uuid4().hex
        for attempt in (1, 2):
            container = self._ensure()
            try:
                with self.engine.connecting():
                    answer = self._execute(container, token, method, path, body, timeout_s)
                break
            except APIError as error:  # the probe went away (engine restarted, removed by hand): one more try
                self._container = None
                if attempt == 2 or error.status_code not in (404, 409):
                    raise HostError(f"{where}: {api_message(error)}") from error
        if answer is None:
            raise HostError(f"{where}: no answer within {timeout_s:g} s")
        head, _, data = answer.partition(b"\n")
        if head == b"0":
            raise HostError(f"{where}: {data.decode(errors='replace')}")
        return int(head), data

    def _execute(
        self, container: str, token: str, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> bytes | None:
        api = self.engine.api
        if method == "POST":
            api.put_archive(container, PROBE_SCRATCH, pack_bytes({f"{token}.in": body or b""}))
        arguments = [token, method, str(port_of(self.handle)), path, f"{timeout_s:g}", PROBE_SCRATCH]
        command = ["python3", "-c", _REQUEST_SCRIPT.read_text(), *arguments]
        exec_id = api.exec_create(container, command, stdout=False, stderr=False)
        api.exec_start(exec_id["Id"], detach=True)
        deadline = time.monotonic() + timeout_s + 15
        pause = 0.02
        while time.monotonic() < deadline:
            if not api.exec_inspect(exec_id["Id"])["Running"]:
                return self._fetch(container, token)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)
        return None

    def _fetch(self, container: str, token: str) -> bytes | None:
        try:
            chunks, _ = self.engine.api.get_archive(container, f"{PROBE_SCRATCH}/{token}.out")
        except NotFound:
            return None  # the script died before it could write: out of memory, or killed
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            member = archive.next()
            source = archive.extractfile(member) if member is not None and member.isreg() else None
            return source.read() if source is not None else None

    def _ensure(self) -> str:
        """The probe's container: found by its name, or made; one that belongs to an earlier server is replaced."""
        if self._container is not None:
            return self._container
        name = probe_name(self.handle.name)
        waited_for_maker = 0.0
        for _ in range(_TRIES):
            found = containers.inspect(self.engine, name)
            if found is None:
                with contextlib.suppress(LeaseHeld):  # two processes made it at the same moment: look again
                    return self._make(name)
                continue
            if (found["Config"].get("Labels") or {}).get(names.LABEL_OWNER) != names.OWNER:
                raise HostError(
                    f"host {self.engine.host}: container {name} is in the way and not ours", remedy="rename it"
                )
            if found["HostConfig"]["NetworkMode"] == f"container:{self.handle.id}":
                if found["State"]["Running"]:
                    self._container = str(found["Id"])
                    return self._container
                if found["State"]["Status"] == "created" and waited_for_maker < _MAKER_S:
                    waited_for_maker += _PAUSE_S  # whoever made it is about to start it
                    time.sleep(_PAUSE_S)
                    continue
            containers.remove(self.engine, found["Id"])
        raise HostError(f"host {self.engine.host}: cannot start container {name}", remedy="remove it by hand")

    def _make(self, name: str) -> str:
        server = containers.inspect(self.engine, self.handle.id)
        if server is None:
            raise HostError(f"host {self.engine.host}: container {self.handle.name} is gone")
        labels = {**server["Config"]["Labels"], names.LABEL_ROLE: "probe", names.LABEL_CREATED: containers.now_utc()}
        body = probe_body(self.image, server_id=self.handle.id, labels=labels)
        container = containers.create(self.engine, name, body)
        try:
            containers.start(self.engine, name, container)
        except BaseException:
            containers.remove(self.engine, container)
            raise
        self._container = container
        return container
