"""An sshd of our own on a loopback port, with a home folder whose keys open it."""

from __future__ import annotations

import getpass
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.registry import free_port

_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
"""


@dataclass(frozen=True)
class SshServer:
    """A running sshd; ``home`` has an ``.ssh`` folder with a key that it accepts and its host key as known."""

    url: str
    home: Path


def _keygen(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path.with_suffix(".pub").read_text()


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Start sshd for the current user."""
    home = folder / "ssh-home"
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    host_key = _keygen(folder / "host_key")
    (folder / "authorized_keys").write_text(_keygen(home / ".ssh" / "id_ed25519"))
    port = free_port()
    (home / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
    (folder / "sshd_config").write_text(_CONFIG.format(port=port, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        command = ["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        for _ in range(100):
            assert process.poll() is None, (folder / "sshd.log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield SshServer(f"ssh://{getpass.getuser()}@127.0.0.1:{port}", home)
    finally:
        process.terminate()
        process.wait(10)
