"""Files over HTTP on a loopback port, with ranges and ETags, and connections that break when a test wants them to."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Files:
    """What is served, and how it misbehaves."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    statuses: dict[str, list[int]] = field(default_factory=dict)  # answers before the good one
    cut_after: dict[str, list[int]] = field(default_factory=dict)  # bytes until a connection breaks, once each
    ranges: list[str | None] = field(default_factory=list)
    etags: bool = True


@contextmanager
def file_server() -> Iterator[Files]:
    files = Files()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            files.ranges.append(asked)
            content = files.content.get(self.path)
            if files.statuses.get(self.path):
                self.reply(files.statuses[self.path].pop(0), b"not now")
                return
            if content is None:
                self.reply(404, b"nothing here")
                return
            etag = f'"{hashlib.sha256(content).hexdigest()}"'
            headers = {"ETag": etag} if files.etags else {}
            status, start = 200, 0
            if asked is not None and self.headers.get("If-Range") == etag:
                status, start = 206, int(asked.removeprefix("bytes=").rstrip("-"))
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.reply(status, content[start:], headers)

        def reply(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            cuts = files.cut_after.get(self.path)
            self.wfile.write(content[: cuts.pop(0)] if cuts else content)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    files.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield files
    finally:
        server.shutdown()
        server.server_close()
