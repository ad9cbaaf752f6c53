"""Collectors that listen for real: StatsD over UDP, OpenTelemetry over HTTP."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


class StatsdListener:
    """Every line that arrived, as ``name:value|type``."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self.port: int = self._socket.getsockname()[1]
        self.lines: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._over.is_set():
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                continue
            self.lines += data.decode().splitlines()

    def close(self) -> list[str]:
        """Stop listening; gives what arrived."""
        self._over.set()
        self._thread.join(5)
        self._socket.close()
        return self.lines


@contextmanager
def statsd_listener() -> Iterator[StatsdListener]:
    """A StatsD collector on a free UDP port."""
    listener = StatsdListener()
    try:
        yield listener
    finally:
        listener.close()


class OtlpListener:
    """Metrics that were exported: name -> list of (attributes, value)."""

    def __init__(self) -> None:
        self.metrics: dict[str, list[tuple[dict[str, str], float]]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def take(self, body: bytes) -> None:
        """One export request."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        request = ExportMetricsServiceRequest.FromString(body)
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in (*metric.sum.data_points, *metric.gauge.data_points):
                        tags = {item.key: item.value.string_value for item in point.attributes}
                        value = float(point.as_int or point.as_double)
                        self.metrics.setdefault(metric.name, []).append((tags, value))

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def otlp_listener() -> Iterator[OtlpListener]:
    """An OpenTelemetry collector on a free port of loopback."""
    listener = OtlpListener()
    try:
        yield listener
    finally:
        listener.close()
