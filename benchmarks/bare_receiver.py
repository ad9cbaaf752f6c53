"""The least that a client in Python can do: read and stamp, parse nothing. What it costs is the floor of every client.

    python -m benchmarks.bare_receiver [--streams 1,64,256] [--tokens 128] [--waves 3] [--priority]

One epoll, one ``recvmsg`` a token, no event loop, no JSON, no records. For each number of streams it prints how late
its own reading was, how late the kernel's stamp was (both against the server's writes), and its CPU a token. Where
there is a C compiler, a program that only calls ``recv`` is measured with one stream as well (``bare_receiver.c``).
``--results`` appends what was measured to a file that ``python -m benchmarks.clients write`` reads.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from benchgate.client.wire.kernel_clock import ANCILLARY, ask_for_stamps, unpack
from benchmarks import report
from benchmarks.reference_server.process import RunningServer, start

FIRST_TOKEN = b'"content"'


@dataclass
class Stream:
    """One connection, and what its last answer brought."""

    sock: socket.socket
    sent_at: float = 0.0
    first: tuple[float, float] | None = None  # (the kernel's time, our own)
    name: str = ""


@dataclass
class Result:
    """Of one number of streams. Times in ms."""

    kernel_late: list[float] = field(default_factory=list)
    own_late: list[float] = field(default_factory=list)
    ttft_by_kernel: list[float] = field(default_factory=list)
    ttft_by_own: list[float] = field(default_factory=list)
    ttft: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


def _request(name: str, tokens: int) -> bytes:
    content = {"model": "simulated", "messages": [{"role": "user", "content": "w " * 64}], "max_tokens": tokens}
    body = json.dumps({**content, "stream": True, "stream_options": {"include_usage": True}}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: bare\r\nX-Request-Id: {name}\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def _wave(streams: dict[int, Stream], poller: select.epoll, wave: int, tokens: int) -> None:
    """One request on every stream, until all have ended."""
    clock, buffer = time.monotonic, bytearray(65536)
    for fd, stream in streams.items():
        stream.name, stream.first = f"measured-{wave}-{fd}", None
        request = _request(stream.name, tokens)
        stream.sent_at = clock()
        stream.sock.send(request)
    left = len(streams)
    while left:
        for fd, _ in poller.poll():
            stream = streams[fd]
            size, ancillary, _, _ = stream.sock.recvmsg_into((buffer,), ANCILLARY)
            now = clock()
            seconds, nanoseconds = unpack(ancillary[0][2]) if ancillary else (time.time(), 0)
            stamp = seconds + nanoseconds * 1e-9 - (time.time() - clock())
            if stream.first is None and FIRST_TOKEN in buffer[:size]:
                stream.first = (stamp, now)
            left -= buffer[max(0, size - 5) : size] == b"0\r\n\r\n"


def measure(server: RunningServer, count: int, tokens: int, waves: int) -> Result:
    """Waves of ``count`` streams; the first one warms up."""
    host, port = server.base_url.removeprefix("http://").split(":")
    poller, streams, result = select.epoll(), dict[int, Stream](), Result()
    for _ in range(count):
        sock = socket.create_connection((host, int(port)))
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ask_for_stamps(sock)
        poller.register(sock, select.EPOLLIN)
        streams[sock.fileno()] = Stream(sock)
    gc.disable()
    seen: dict[str, tuple[float, float, float]] = {}
    for wave in range(waves + 1):
        before = time.process_time()
        _wave(streams, poller, wave, tokens)
        if wave:
            result.cpu_s += time.process_time() - before
            seen |= {one.name: (one.sent_at, *one.first) for one in streams.values() if one.first}
    gc.enable()
    for one in server.truth():
        if one.client_request_id in seen and one.ttft_s is not None:
            sent_at, kernel, own = seen[one.client_request_id]
            written = one.token_ns[0] / 1e9
            result.kernel_late.append(1000 * (kernel - written))
            result.own_late.append(1000 * (own - written))
            result.ttft_by_kernel.append(1000 * (kernel - sent_at))
            result.ttft_by_own.append(1000 * (own - sent_at))
            result.ttft.append(1000 * one.ttft_s)
    for stream in streams.values():
        stream.sock.close()
    return result


def measure_c(server: RunningServer, tokens: int, waves: int) -> float:
    """CPU microseconds a token of the program in C, with one stream, on the core of this process."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bare_receiver"
        subprocess.run(["cc", "-O2", "-Wall", "-o", program, Path(__file__).with_suffix(".c")], check=True)
        port = server.base_url.rpartition(":")[2].partition("/")[0]
        return float(subprocess.check_output([program, port, str(tokens), str(waves)]))


def _keep(results: Path | None, row: dict[str, object]) -> None:
    if results is None:
        return
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with results.open("a") as file:
        file.write(json.dumps({**row, "at": at, "machine": report.machine()}) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Server on core 0, this process on core 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare_receiver", description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", default="1,64,256")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--waves", type=int, default=3)
    parser.add_argument("--priority", action="store_true", help="real-time priority for both (needs root)")
    parser.add_argument("--results", type=Path, help="append the measurements to this file")
    args = parser.parse_args(argv)
    first = ("chrt", "--rr", "20") if args.priority else ()
    os.sched_setaffinity(0, {1})
    if args.priority:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))
    print("streams | TTFT p50 error, ms: kernel's stamp / its own | first token late, ms: the same | CPU, us a token")
    for count in map(int, args.streams.split(",")):
        server = start("--ttft-ms", "200", "--itl-ms", "20", prefix=(*first, "taskset", "-c", "0"))
        try:
            found = measure(server, count, args.tokens, args.waves)
        finally:
            server.stop()
        middle = statistics.median
        errors = [middle(times) - middle(found.ttft) for times in (found.ttft_by_kernel, found.ttft_by_own)]
        late = [middle(found.kernel_late), middle(found.own_late)]
        cpu = 1e6 * found.cpu_s / (count * args.tokens * args.waves)
        names = ("ttft_p50_error_by_kernel_ms", "ttft_p50_error_by_own_ms", "cpu_us_per_token")
        measured = dict(zip(names, (*errors, cpu), strict=True))
        _keep(args.results, {"kind": "floor", "load": str(count), "priority": args.priority, **measured})
        print(
            f"{count} | {errors[0]:+.3f} / {errors[1]:+.3f} | {late[0]:+.3f} / {late[1]:+.3f} | {cpu:.1f}", flush=True
        )
    if shutil.which("cc"):
        server = start("--ttft-ms", "200", "--itl-ms", "20", prefix=(*first, "taskset", "-c", "0"))
        try:
            cpu = measure_c(server, args.tokens, args.waves)
        finally:
            server.stop()
        _keep(args.results, {"kind": "floor_c", "load": "1", "priority": args.priority, "cpu_us_per_token": cpu})
        print(f"1, in C, one recv a token and nothing else | CPU, us a token: {cpu:.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
