"""Docker hosts that hosts.yaml names by an Airflow connection (``docker_conn_id``)."""

from __future__ import annotations

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret

from benchgate.errors import HostError
from benchgate.hosts.docker_connections import EngineConnection, connection_from_fields, use_connections


def install() -> None:
    """Let this process reach hosts through Airflow connections."""
    use_connections(engine_connection)


def engine_connection(conn_id: str) -> EngineConnection:
    """The Docker Engine behind an Airflow connection; its password (a registry's) is masked at once.

    Raises:
        HostError: there is no such connection, or it cannot be used.
    """
    try:
        connection = Connection.get(conn_id)
    except AirflowNotFoundException:
        raise HostError(
            f"there is no Airflow connection {conn_id!r}", remedy="create it, or correct docker_conn_id in hosts.yaml"
        ) from None
    if connection.password:
        mask_secret(connection.password)
    return connection_from_fields(
        conn_id,
        host=connection.host,
        port=connection.port,
        login=connection.login,
        password=connection.password,
        extra=connection.extra_dejson,
    )
