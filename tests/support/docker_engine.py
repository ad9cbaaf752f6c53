"""A second Docker Engine on this machine: another "host", with its own storage, network namespace and TLS address."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.spec.hosts import TlsFiles


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def make_certificates(folder: Path, address: str) -> TlsFiles:
    """A CA, a server certificate for ``address`` and a client certificate, made with openssl."""
    folder.mkdir(parents=True, exist_ok=True)

    def path(name: str) -> str:
        return str(folder / name)

    request = ("openssl", "req", "-newkey", "rsa:2048", "-nodes")
    _run(*request, "-x509", "-days", "2", "-subj", "/CN=test-ca", "-keyout", path("ca-key.pem"), "-out", path("ca.pem"))
    for name, usage in (("server", "serverAuth"), ("client", "clientAuth")):
        (folder / f"{name}.ext").write_text(f"subjectAltName=IP:{address}\nextendedKeyUsage={usage}\n")
        _run(*request, "-subj", f"/CN={name}", "-keyout", path(f"{name}-key.pem"), "-out", path(f"{name}.csr"))
        _run("openssl", "x509", "-req", "-days", "2", "-CAcreateserial", "-in", path(f"{name}.csr"), "-CA",
             path("ca.pem"), "-CAkey", path("ca-key.pem"), "-out", path(f"{name}.pem"), "-extfile",
             path(f"{name}.ext"))  # fmt: skip
    return TlsFiles(ca=path("ca.pem"), cert=path("client.pem"), key=path("client-key.pem"))


@dataclass
class SecondEngine:
    """A running dockerd of our own."""

    folder: Path
    namespace: str
    address: str  # of the engine, as this machine reaches it
    worker_address: str  # of this machine, as the engine reaches it
    tls: TlsFiles
    sockets: Path  # a short path: a Unix socket's name holds 107 characters
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def tls_url(self) -> str:
        """Where it listens with TLS."""
        return f"tcp://{self.address}:2376"

    @property
    def unix_url(self) -> str:
        """Its local socket."""
        return f"unix://{self.sockets / 'docker.sock'}"

    def connection(self) -> EngineConnection:
        """How a worker on another machine reaches it."""
        return EngineConnection(self.tls_url, self.tls)

    def start(self) -> None:
        """Start the daemon (again) and wait until it answers."""
        files = self.folder / "tls"
        command = [
            *("nsenter", f"--net=/run/netns/{self.namespace}", "dockerd"),
            *("--data-root", str(self.folder / "data"), "--exec-root", str(self.sockets)),
            *("--pidfile", str(self.folder / "docker.pid"), "-H", self.unix_url, "-H", "tcp://0.0.0.0:2376"),
            *("--tlsverify", "--tlscacert", str(files / "ca.pem"), "--tlscert", str(files / "server.pem")),
            *("--tlskey", str(files / "server-key.pem"), "--insecure-registry", "10.213.0.0/16"),
        ]
        with (self.folder / "dockerd.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        engine = DockerEngine("second", EngineConnection(self.unix_url), timeout_s=10)
        for _ in range(120):
            assert self.process.poll() is None, (self.folder / "dockerd.log").read_text()[-2000:]
            with suppress(HostError):
                engine.api.ping()
                engine.close()
                return
            time.sleep(0.25)
        raise AssertionError("the second dockerd does not answer: " + (self.folder / "dockerd.log").read_text()[-2000:])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the daemon; its containers die with it."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)


@contextmanager
def second_engine(folder: Path, *, disk_mib: int | None = None) -> Iterator[SecondEngine]:
    """A dockerd in a network namespace, reached over a virtual cable at another address, with TLS. Needs root.

    With ``disk_mib`` its data lies on a file system of that size, which soon is full.
    """
    name = f"bg{uuid.uuid4().hex[:6]}"
    third = int(uuid.uuid4().hex[:2], 16)
    ours, theirs = f"10.213.{third}.1", f"10.213.{third}.2"
    tls = make_certificates(folder / "tls", theirs)
    _run("ip", "netns", "add", name)
    sockets = Path(tempfile.mkdtemp(prefix="bg-"))
    engine = SecondEngine(folder, name, theirs, ours, tls, sockets)
    try:
        _run("ip", "link", "add", f"{name}h", "type", "veth", "peer", "name", f"{name}c", "netns", name)
        _run("ip", "addr", "add", f"{ours}/24", "dev", f"{name}h")
        _run("ip", "link", "set", f"{name}h", "up")
        _run("ip", "-n", name, "addr", "add", f"{theirs}/24", "dev", f"{name}c")
        _run("ip", "-n", name, "link", "set", f"{name}c", "up")
        _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("ip", "-n", name, "route", "add", "default", "via", ours)
        if disk_mib is not None:
            (folder / "data").mkdir()
            _run("mount", "-t", "tmpfs", "-o", f"size={disk_mib}m", "tmpfs", str(folder / "data"))
        try:
            engine.start()
            yield engine
        finally:
            engine.stop()
            if disk_mib is not None:
                subprocess.run(["umount", "-l", str(folder / "data")], check=False, capture_output=True)
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", f"{name}h"], check=False, capture_output=True)
        shutil.rmtree(folder / "data", ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)
