"""The connection to one Docker Engine: local socket, TCP with TLS, or ssh; and its errors in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, TLSParameterError
from docker.tls import TLSConfig
from paramiko import SSHException

from benchgate import secrets
from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_tls import tls_problem

# Any engine from Docker 17.05 (2017) on speaks this version; it is only used to ask for the engine's own.
_BOOTSTRAP_API_VERSION = "1.29"
CALL_TIMEOUT_S = 60.0


# (part of the error's text in lower case, what it means, what to do); the first hit counts
_CONNECT_ERRORS: tuple[tuple[str, str, str], ...] = (
    ("http request to an https server", "it speaks TLS and no TLS files are given", "add tls: {ca, cert, key}"),
    (
        "badstatusline",
        "what answers there does not speak HTTP and is no Docker Engine",
        "correct docker_url: the address and port of the engine (usually 2376, with TLS)",
    ),
    (
        "wrong version number",
        "it does not speak TLS on that port",
        "use the TLS port (usually 2376) or leave tls out for a plain port",
    ),
    (
        "certificate has expired",
        "its certificate is not valid any more at this machine's time",
        "renew the certificate, or set the clock of this worker right",
    ),
    (
        "certificate is not yet valid",
        "its certificate is not valid yet at this machine's time",
        "set the clock of this worker right",
    ),
    (
        "certificate_verify_failed",
        "its certificate does not check out against tls.ca",
        "use the CA that signed the engine's certificate, and an address that stands in the certificate",
    ),
    (
        "doesn't match",
        "its certificate is for another address",
        "use an address that stands in the certificate",
    ),
    ("certificate required", "it asks for a client certificate", "give tls.cert and tls.key that its CA has signed"),
    ("bad certificate", "it refused the client certificate", "give tls.cert and tls.key that its CA has signed"),
    ("unknown ca", "it refused the client certificate", "give tls.cert and tls.key that its CA has signed"),
    (
        "authentication failed",
        "ssh refused the login",
        "put this worker's key into the remote authorized_keys and load it in ssh-agent",
    ),
    (
        "no authentication methods available",
        "ssh has no key to log in with",
        "put this worker's key into the remote authorized_keys and load it in ssh-agent",
    ),
    (
        "not found in known_hosts",
        "its ssh host key is unknown",
        "connect once with ssh by hand and accept the host key, as the user that runs the worker",
    ),
    (
        "permission denied",
        "this user may not use the socket",
        "add the user to the docker group (in a container: group_add with the socket's group id)",
    ),
    (
        "no such file or directory",
        "there is no such socket",
        "start Docker on the host, or correct docker_url",
    ),
    ("connection refused", "nothing listens there", "start Docker on the host, or correct docker_url"),
    ("name or service not known", "its name does not resolve", "correct docker_url, or the name service"),
    ("temporary failure in name resolution", "its name does not resolve", "correct docker_url, or the name service"),
    ("no route to host", "there is no route to it", "check the network and the firewall"),
    ("network is unreachable", "there is no route to it", "check the network and the firewall"),
    ("timed out", "it did not answer in time", "check the network, the firewall and the load of the host"),
    ("timeout", "it did not answer in time", "check the network, the firewall and the load of the host"),
    (
        "connection aborted",
        "it closed the connection",
        "see the Docker log on the host; the daemon may be restarting",
    ),
    ("connection reset", "it closed the connection", "see the Docker log on the host; the daemon may be restarting"),
)


def explain_connect_error(host: str, url: str, error: BaseException) -> HostError:
    """An error of the transport as one that names the host, its URL and the remedy."""
    text = " ".join(str(error).split())
    lowered = text.lower()
    where = f"host {host}: the Docker Engine at {secrets.mask(url)} cannot be used"
    for part, meaning, remedy in _CONNECT_ERRORS:
        if part in lowered:
            return HostError(f"{where}: {meaning}", remedy=remedy)
    return HostError(f"{where}: {secrets.mask(text[:300])}", remedy="try `docker version` with the same address")


def speaks_docker(error: APIError) -> bool:
    """Whether a refusal is a Docker Engine's: JSON with a message, or its word that this port wants TLS."""
    if "HTTPS server" in str(error):
        return True
    if error.response is None:
        return False
    try:
        return isinstance(error.response.json()["message"], str)
    except (requests.JSONDecodeError, LookupError, TypeError):
        return False


def api_message(error: APIError) -> str:
    """The engine's own words about a refused call, on one line, masked."""
    return secrets.mask(" ".join(str(error.explanation or error).split())[:500])


class DockerEngine:
    """A Docker Engine of the inventory. Connects on first use; safe to create at any time."""

    def __init__(self, host: str, connection: EngineConnection, *, timeout_s: float = CALL_TIMEOUT_S) -> None:
        self.host = host
        self.connection = connection
        self.timeout_s = timeout_s
        self._version: str | None = None
        self._api: Any = None

    @property
    def api(self) -> Any:
        """The low-level client (``docker.APIClient``) with the usual time limit."""
        if self._api is None:
            self._api = self.api_with_timeout(self.timeout_s)
        return self._api

    def api_with_timeout(self, timeout_s: float) -> Any:
        """Another client, for one call that may take longer; the caller closes it."""
        with self.connecting():
            if self._version is None:
                first = self._client(_BOOTSTRAP_API_VERSION, min(self.timeout_s, 20.0))
                try:
                    self._version = self._asked_version(first)
                finally:
                    first.close()
            return self._client(self._version, timeout_s)

    def _asked_version(self, client: Any) -> str:
        """The newest API version of the engine: the first question of all, so also whether an engine answers at all.

        Raises:
            HostError: what answers is something else, such as a web server or an inference server.
        """
        try:
            return str(client.version(api_version=False)["ApiVersion"])
        except APIError as error:
            if speaks_docker(error):
                raise
            said = f"HTTP status {error.status_code}"
        except (requests.JSONDecodeError, LookupError, TypeError):  # no JSON, or other JSON than an engine's
            said = "something else than a version"
        raise HostError(
            f"host {self.host}: what answers at {secrets.mask(self.connection.url)} is no Docker Engine: "
            f"asked for its version, it says {said}",
            remedy="correct docker_url: the address and port of the engine (usually 2376, with TLS)",
        )

    def _client(self, version: str, timeout_s: float) -> Any:
        problem = tls_problem(self.host, self.connection.url, self.connection.tls)
        if problem:
            raise HostError(problem, remedy="give tls.ca, tls.cert and tls.key of this host as files on the worker")
        tls: Any = False
        if self.connection.tls:
            files = [str(Path(file).expanduser()) for file in (self.connection.tls.cert, self.connection.tls.key)]
            ca = str(Path(self.connection.tls.ca).expanduser())
            tls = TLSConfig(client_cert=(files[0], files[1]), ca_cert=ca, verify=True)
        client: Any = docker.APIClient(
            base_url=self.connection.url, version=version, timeout=math.ceil(timeout_s), tls=tls
        )
        # requests lets REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE and HTTP_PROXY of the worker override what was configured
        # for this host: the engine's CA would be ignored. The version is given above so that nothing was sent yet.
        client.trust_env = False
        return client

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Turn errors of the transport into :class:`HostError`; refusals of the engine pass through."""
        try:
            yield
        except APIError as error:
            if error.status_code == 400 and "HTTPS server" in str(error):
                raise explain_connect_error(self.host, self.connection.url, error) from error
            raise
        except (requests.RequestException, TLSParameterError, SSHException, OSError) as error:
            raise explain_connect_error(self.host, self.connection.url, error) from error
        except DockerException as error:
            raise explain_connect_error(self.host, self.connection.url, error) from error

    @contextmanager
    def doing(self, what: str, *, remedy: str | None = None) -> Iterator[None]:
        """Turn every error inside into :class:`HostError` that names the host and what was being done."""
        try:
            with self.connecting():
                yield
        except APIError as error:
            raise HostError(f"host {self.host}: {what}: {api_message(error)}", remedy=remedy) from error

    def clock(self) -> float:
        """What time it is on the engine's machine, in seconds since the epoch: whole ones, as it dates containers."""
        with self.doing("cannot ask for the time"):
            told = str(self.api.info()["SystemTime"])
        day_and_time, zone = told[:19], told[19:].lstrip(".0123456789")
        return datetime.fromisoformat(day_and_time + zone.replace("Z", "+00:00")).timestamp()

    def image(self, name: str) -> dict[str, Any] | None:
        """What the engine says of an image; None when it is not there."""
        with self.doing(f"cannot look at image {name}"):
            try:
                return dict(self.api.inspect_image(name))
            except ImageNotFound:
                return None

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        if self._api is not None:
            self._api.close()
            self._api = None
