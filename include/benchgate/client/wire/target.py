"""Where requests go: the server's address, TLS, and the proxy between, as users of curl expect them."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, unquote, urlsplit

from benchgate.client.config import OptionError
from benchgate.secrets import mask, register


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy."""

    host: str
    port: int
    authorization: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A server to send to. ``api_path`` ends in ``/v1``; ``root_path`` is what stands before it."""

    scheme: str
    host: str
    port: int
    root_path: str
    api_path: str
    proxy: Proxy | None
    tls: ssl.SSLContext | None

    @property
    def origin(self) -> str:
        """Scheme, host and port for messages."""
        return f"{self.scheme}://{self.netloc}"

    @property
    def netloc(self) -> str:
        """Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def connect_to(self) -> tuple[str, int]:
        """Where the TCP connection goes: the proxy if there is one."""
        return (self.proxy.host, self.proxy.port) if self.proxy else (self.host, self.port)

    def request_target(self, path: str) -> str:
        """The path, or the absolute form that a proxy wants for plain HTTP."""
        return f"http://{self.netloc}{path}" if self.proxy and self.scheme == "http" else path

    def head(
        self, method: str, path: str, *, length: int, api_key: str | None, accept: str, request_id: str | None = None
    ) -> bytes:
        """Request line and headers."""
        lines = [
            f"{method} {self.request_target(path)} HTTP/1.1",
            f"Host: {self.netloc}",
            "User-Agent: benchgate",
            f"Accept: {accept}",
            "Accept-Encoding: identity",
        ]
        if method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        if request_id:
            lines.append(f"X-Request-Id: {request_id}")
        if api_key:
            lines.append(f"Authorization: Bearer {api_key}")
        if self.proxy and self.scheme == "http" and self.proxy.authorization:
            lines.append(f"Proxy-Authorization: {self.proxy.authorization}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def parse_target(base_url: str, *, ca_file: str | None = None, environment: Mapping[str, str] | None = None) -> Target:
    """Read ``--base-url``: with or without ``/v1``, with or without the endpoint's path behind it.

    Raises:
        OptionError: no http(s) URL, or a CA file that cannot be used.
    """
    environment = os.environ if environment is None else environment
    url = _split(base_url, "--base-url")
    if url.username is not None:
        raise OptionError("--base-url holds a login, which is not sent", remedy="give a key with --api-key-env")
    if url.query or url.fragment:
        raise OptionError("--base-url must end with its path", remedy="leave out what begins with ? or #")
    path = quote(url.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    for endpoint in ("/chat/completions", "/completions"):
        path = path.removesuffix(endpoint)
    root = path.removesuffix("/v1")
    api = path if path.endswith("/v1") else f"{path}/v1"
    host = _ascii(url.hostname or "")
    port = url.port or (443 if url.scheme == "https" else 80)
    tls = _tls_context(ca_file) if url.scheme == "https" else None
    return Target(url.scheme, host, port, root, api, proxy_for(url.scheme, host, port, environment), tls)


def _ascii(host: str) -> str:
    """A host name as DNS and the Host header want it."""
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        name = ""
    if not re.fullmatch(r"[\w.:%-]+", name):
        raise OptionError(f"--base-url: {host!r} is no host name")
    return name


def proxy_for(scheme: str, host: str, port: int, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for this server.

    A proxy on another machine cannot reach this machine's loopback, so loopback servers skip such a proxy.

    ``HTTPS_PROXY`` / ``HTTP_PROXY`` / ``ALL_PROXY`` and ``NO_PROXY``, lower case first. Upper case ``HTTP_PROXY`` is
    ignored inside a CGI, where it would be a request header.
    """
    names = [f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"]
    if "REQUEST_METHOD" in environment:
        names = [name for name in names if name != "HTTP_PROXY"]
    value = next((environment[name] for name in names if environment.get(name)), None)
    if not value or _bypassed(host, port, environment):
        return None
    url = _split(value if "://" in value else f"http://{value}", "the proxy in the environment")
    if _is_loopback(host) and not _is_loopback(url.hostname or ""):
        return None
    if url.scheme != "http":
        raise OptionError(
            f"the proxy {mask(value)} is not an http:// proxy", remedy=f"unset it, or add {host} to NO_PROXY"
        )
    authorization = None
    if url.username is not None:
        login = f"{unquote(url.username)}:{unquote(url.password or '')}"
        authorization = "Basic " + base64.b64encode(login.encode()).decode()
        register(url.password)
        register(unquote(url.password or ""))
        register(authorization)
    return Proxy(url.hostname or "", url.port or 80, authorization)


def _bypassed(host: str, port: int, environment: Mapping[str, str]) -> bool:
    """``NO_PROXY``: ``*``, host names and their subdomains, ``host:port``, addresses, and networks like 10.0.0.0/8."""
    entries = (environment.get("no_proxy") or environment.get("NO_PROXY") or "").split(",")
    return any(_matches(entry.strip().lower(), host.lower(), port) for entry in entries)


def _matches(entry: str, host: str, port: int) -> bool:
    if not entry:
        return False
    if entry in ("*", host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}"):
        return True
    name, _, only_port = entry.partition(":")
    if only_port.isdigit() and int(only_port) != port:
        return False
    domain = (name if only_port.isdigit() else entry).removeprefix("*").lstrip(".")
    if domain and (host == domain or host.endswith(f".{domain}")):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(value: str, what: str) -> SplitResult:
    try:
        url = urlsplit(value)
        _ = url.port
    except ValueError as error:
        raise OptionError(f"{what} {mask(value)!r} is no URL: {error}") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise OptionError(f"{what} {mask(value)!r} is no URL", remedy="write it like http://127.0.0.1:8000")
    return url


def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=ca_file)
    except FileNotFoundError:
        raise OptionError(f"--ca-file {ca_file} does not exist") from None
    except (ssl.SSLError, OSError) as error:
        raise OptionError(f"--ca-file {ca_file} cannot be used: {error}", remedy="it must be a PEM file") from None
