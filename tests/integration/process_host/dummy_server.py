"""A server with the habits of an inference engine, for tests of the host that runs it. Standard library only.

It answers GET with its environment and CPUs as JSON, and it may start workers, one of which leaves its parent, its
session and its environment behind, as engines' workers do.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({"env": dict(os.environ), "cpus": sorted(os.sched_getaffinity(0)), "pid": os.getpid()})

    def do_POST(self):
        self.reply({"got": self.rfile.read(int(self.headers["Content-Length"])).decode()})

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def worker(kind: str) -> None:
    """``plain``: a child. ``daemon``: two forks and its own session. ``titled``: its environment is overwritten."""
    if kind == "daemon":
        before = [os.getpid()]
        if os.fork():
            return
        before.append(os.getpid())
        os.setsid()
        if os.fork():
            os._exit(0)
        while any(runs(pid) for pid in before):  # it speaks once it is alone: who counts it counts nobody else
            time.sleep(0.01)
    if kind == "titled":
        size = len(Path(f"/proc/{os.getpid()}/environ").read_bytes())
        first = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")[0]
        ctypes.memset(first, 0, size - 1)  # as setproctitle does, to have room for a longer title
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"worker {kind} {os.getpid()}", flush=True)
    time.sleep(600)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", default="")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--exit", type=int)
    parser.add_argument("--worker")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker)
        return
    print("out line")
    print("err line", file=sys.stderr)
    if args.exit is not None:
        sys.exit(args.exit)
    if args.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for kind in filter(None, args.workers.split(",")):
        subprocess.Popen([sys.executable, __file__, "--port", "1", "--worker", kind])
    server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
