"""How each Docker host of the inventory is reached: URL and TLS files, or an Airflow connection. No Docker import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchgate import secrets
from benchgate.errors import HostError
from benchgate.spec.hosts import HostSpec, TlsFiles


@dataclass(frozen=True)
class EngineConnection:
    """How to reach a Docker Engine, and who may pull from which registry through it."""

    url: str
    tls: TlsFiles | None = None
    registry: str | None = None
    registry_username: str | None = None
    registry_password: str | None = field(default=None, repr=False)


def connection_from_fields(
    conn_id: str,
    *,
    host: str | None,
    port: int | None,
    login: str | None = None,
    password: str | None = None,
    extra: Mapping[str, object] | None = None,
) -> EngineConnection:
    """The fields of an Airflow connection as an :class:`EngineConnection`.

    ``host`` is a URL (``tcp://``, ``ssh://``, ``unix://``) or a plain name, which means ``tcp://``. The extra field
    names ``ca``, ``cert`` and ``key`` (files on the worker) for TLS, and ``registry`` for the login.

    Raises:
        HostError: no host, or only one or two of the three TLS files.
    """
    extra = extra or {}
    if not host:
        raise HostError(
            f"Airflow connection {conn_id!r} has no host", remedy="write the Docker URL there, e.g. tcp://gpu1:2376"
        )
    url = host if "://" in host else f"tcp://{host}"
    if port and url.startswith(("tcp://", "ssh://")) and not url.rsplit("/", 1)[-1].rpartition(":")[2].isdigit():
        url = f"{url}:{port}"
    tls_files = {name: str(extra[name]) for name in ("ca", "cert", "key") if extra.get(name)}
    if tls_files and len(tls_files) < 3:
        missing = ", ".join(name for name in ("ca", "cert", "key") if name not in tls_files)
        raise HostError(
            f"Airflow connection {conn_id!r} names only part of the TLS files; missing: {missing}",
            remedy="give ca, cert and key, or none of them: with a part, the Docker client would speak plain HTTP",
        )
    secrets.register(password)
    registry = extra.get("registry")
    return EngineConnection(
        url=url,
        tls=TlsFiles(**tls_files) if tls_files else None,
        registry=str(registry) if registry else None,
        registry_username=login or None,
        registry_password=password or None,
    )


Resolver = Callable[[str], EngineConnection]
_resolver: Resolver | None = None


def use_connections(resolver: Resolver | None) -> None:
    """Let this process look Airflow connection ids up with ``resolver``; inside Airflow this is done at the start.

    The library itself never imports Airflow.
    """
    global _resolver
    _resolver = resolver


def connection_of(name: str, spec: HostSpec, resolver: Resolver | None = None) -> EngineConnection:
    """The connection of an inventory entry; ``resolver`` goes before the process's own.

    Raises:
        HostError: it is no Docker host, or its Airflow connection cannot be looked up here.
    """
    if spec.docker_url is not None:
        return EngineConnection(spec.docker_url, spec.tls)
    if spec.docker_conn_id is None:
        raise HostError(f"host {name} is not a Docker host", remedy="give it docker_url or docker_conn_id")
    resolver = resolver or _resolver
    if resolver is None:
        raise HostError(
            f"host {name} is reached through the Airflow connection {spec.docker_conn_id!r}, which is unknown here",
            remedy="run this inside Airflow, or write docker_url (and tls) into hosts.yaml",
        )
    found = resolver(spec.docker_conn_id)
    return EngineConnection(
        found.url, spec.tls or found.tls, found.registry, found.registry_username, found.registry_password
    )
