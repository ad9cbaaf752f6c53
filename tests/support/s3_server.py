"""A real S3-compatible server for a test: rclone's, with signed requests and a folder of its own behind it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.requirements import require

ACCESS_KEY = "benchgate-test"
SECRET_KEY = "an-s3-secret-that-nothing-may-show"


def rclone() -> str | None:
    """The rclone command of this environment or of the machine."""
    beside = Path(sys.executable).with_name("rclone")
    return str(beside) if beside.exists() else shutil.which("rclone")


@dataclass
class S3Server:
    """A running server. ``environment`` is what a component needs to use it."""

    endpoint: str
    bucket: str
    folder: Path  # what the bucket holds, as files
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Value of BENCHGATE_ARTIFACTS."""
        return f"s3://{self.bucket}/campaigns"

    def stop(self) -> None:
        """Take the server away; what was stored stays."""
        self.process.kill()
        self.process.wait(10)

    def start_again(self) -> None:
        """The same server at the same address."""
        command = rclone()
        assert command is not None
        self.process = _start(command, self.folder.parent, int(self.endpoint.rpartition(":")[2]))

    @property
    def environment(self) -> dict[str, str]:
        """Address and credentials, as any AWS client reads them."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
            # nothing of the person who runs the tests
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def s3_server(folder: Path, bucket: str = "benchgate") -> Iterator[S3Server]:
    """Serve one bucket on a free port of loopback. Skips where there is no rclone."""
    require("s3")
    command = rclone()
    assert command is not None
    (folder / bucket).mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = _start(command, folder, port)
    server = S3Server(f"http://127.0.0.1:{port}", bucket, folder / bucket, process)
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert process.poll() is None, "rclone did not start"
        yield server
    finally:
        server.stop()


def _start(command: str, folder: Path, port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [command, "serve", "s3", "--addr", f"127.0.0.1:{port}", "--vfs-cache-mode", "off", str(folder)],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent),
            "RCLONE_CONFIG": "",
            "RCLONE_AUTH_KEY": f'"{ACCESS_KEY},{SECRET_KEY}"',
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
