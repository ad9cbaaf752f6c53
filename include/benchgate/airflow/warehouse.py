"""Which warehouse the tasks load into, and the pages read from."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from benchgate import secrets, settings
from benchgate.errors import WarehouseError

CONNECTION_ID = "benchgate_warehouse"


def warehouse_url() -> str:
    """SQLAlchemy URL of the warehouse, for a task: the Airflow connection ``benchgate_warehouse`` where there is one.

    Without it: ``BENCHGATE_WAREHOUSE``, or the SQLite file in BENCHGATE_HOME.
    """
    try:
        return _url(Connection.get(CONNECTION_ID))
    except AirflowNotFoundException:
        return settings.warehouse_url()


def warehouse_url_of_server() -> str:
    """The same for the API server, which asks its secrets backends and database instead of a supervisor."""
    from airflow.exceptions import AirflowNotFoundException as NotFound
    from airflow.models.connection import Connection as ServerConnection

    try:
        return _url(ServerConnection.get_connection_from_secrets(CONNECTION_ID))
    except NotFound:
        return settings.warehouse_url()


def _url(connection: Any) -> str:
    import sqlalchemy as sa

    if connection.conn_type == "sqlite":
        return f"sqlite:///{connection.host or connection.schema}"
    if connection.conn_type not in ("postgres", "postgresql"):
        raise WarehouseError(
            f"the Airflow connection {CONNECTION_ID} is of type {connection.conn_type}",
            remedy="a warehouse is PostgreSQL (type postgres) or SQLite (type sqlite, its file under Host)",
        )
    secrets.register(connection.password)
    url = sa.URL.create(
        "postgresql+psycopg",
        username=connection.login,
        password=connection.password,
        host=connection.host,
        port=connection.port,
        database=connection.schema,
    )
    return url.render_as_string(hide_password=False)
