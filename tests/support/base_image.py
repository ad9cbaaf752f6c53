"""Images for the container tests, built from Debian packages and our own files: no public registry is asked."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYBASE = "benchgate/pybase:bookworm"
TEST_SERVER = "benchgate-test/server:1"
TEST_CLIENT = "benchgate-test/client:1"

# A server that does what a test tells it: `serve PORT`, `exit CODE TEXT`, `stubborn PORT` (ignores SIGTERM),
# `eat MIB` (takes memory until it is killed).
_SERVER = """
import http.server, json, os, signal, sys, time
mode = sys.argv[1] if len(sys.argv) > 1 else "serve"
print("argv " + json.dumps(sys.argv[1:]), flush=True)
print("on stderr", file=sys.stderr, flush=True)
if mode == "exit":
    print(sys.argv[3], flush=True)
    sys.exit(int(sys.argv[2]))
if mode == "eat":
    held = []
    while True: held.append(bytearray(os.urandom(1 << 20)))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): print("request", self.path, flush=True)
    def reply(self, status, data):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        if self.path == "/slow": time.sleep(30)
        if self.path == "/env": return self.reply(200, json.dumps(dict(os.environ)).encode())
        if self.path == "/read": return self.reply(200, open("/vocab/o200k_base.tiktoken", "rb").read())
        self.reply(200 if self.path == "/health" else 404, b"ok")
    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.reply(200, str(len(data)).encode() + b" " + data[-20:])
def leave(*_): print("got the signal, leaving", flush=True); os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "stubborn" else leave)
http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[2])), Handler).serve_forever()
"""

# Stands in for the load generator: speaks the same command line, does what its first argument says.
_CLIENT = """
import json, os, pathlib, signal, sys, time, urllib.request
what, *rest = sys.argv[1:]
out = pathlib.Path(rest[rest.index("--output") + 1])
def finish(code):
    (out / "summary.json").write_text(json.dumps({"completed": 3, "args": sys.argv[1:]}))
    (out / "deep").mkdir(exist_ok=True)
    (out / "deep" / "requests.bin").write_bytes(bytes(range(256)) * 4096)
    sys.exit(code)
signal.signal(signal.SIGINT, lambda *_: (print("interrupted, writing what there is", flush=True), finish(130)))
with urllib.request.urlopen("http://127.0.0.1:%s/health" % os.environ.get("PORT", rest[0]), timeout=5) as reply:
    print("server says", reply.status, flush=True)
for step in range(3):
    print("cell 1/1", step + 1, "of 3", flush=True)
    time.sleep(0.2)
if what == "hang":
    while True: time.sleep(1)
if what == "link": os.symlink("/etc/passwd", out / "innocent.json")
if what == "fail": finish(3)
print("note on stderr", file=sys.stderr, flush=True)
finish(0)
"""


def ensure_base_image(docker_host: str | None = None) -> str:
    """The Python base image on an engine, built there when it is missing."""
    env = {**os.environ, **({"DOCKER_HOST": docker_host} if docker_host else {})}
    found = subprocess.run(["docker", "image", "inspect", PYBASE], env=env, capture_output=True, check=False)
    if found.returncode != 0:
        subprocess.run([ROOT / ".ci" / "build-base-image", PYBASE], env=env, check=True)
    return PYBASE


def build(api: Any, tag: str, dockerfile: str, files: dict[str, str]) -> str:
    """Build a small image over the Docker API and return its tag."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, text in {"Dockerfile": textwrap.dedent(dockerfile), **files}.items():
            data = text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    buffer.seek(0)
    said = list(api.build(fileobj=buffer, custom_context=True, tag=tag, rm=True, forcerm=True, decode=True))
    problems = [line["error"] for line in said if "error" in line]
    assert not problems, problems
    return tag


def build_test_server(api: Any) -> str:
    """An image whose server does what the test says."""
    dockerfile = f"""
        FROM {PYBASE}
        LABEL org.opencontainers.image.version=1.2.3
        COPY server.py /app/server.py
        ENTRYPOINT ["python3", "/app/server.py"]
        """
    return build(api, TEST_SERVER, dockerfile, {"server.py": _SERVER})


def build_test_client(api: Any) -> str:
    """An image with a stand-in for the load generator and the folder that its user may write to."""
    dockerfile = f"""
        FROM {PYBASE}
        COPY benchgate /opt/benchgate/benchgate
        COPY --chown=10001:10001 out /out
        ENV PYTHONPATH=/opt/benchgate
        USER 10001:10001
        ENTRYPOINT ["python3", "-m", "benchgate"]
        """
    files = {"benchgate/__init__.py": "", "benchgate/__main__.py": _CLIENT, "out/.keep": ""}
    return build(api, TEST_CLIENT, dockerfile, files)


def copy_image(source: Any, target: Any, tag: str) -> None:
    """Bring an image from one engine to another, without a registry."""
    target.load_image(b"".join(source.get_image(tag)))
