"""Which warehouse the tasks load into."""

from __future__ import annotations

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from benchgate import secrets, settings

CONNECTION_ID = "benchgate_warehouse"


def warehouse_url() -> str:
    """SQLAlchemy URL of the warehouse: the Airflow connection ``benchgate_warehouse`` where there is one.

    Without it: ``BENCHGATE_WAREHOUSE``, or the SQLite file in BENCHGATE_HOME.
    """
    try:
        connection = Connection.get(CONNECTION_ID)
    except AirflowNotFoundException:
        return settings.warehouse_url()
    import sqlalchemy as sa

    if connection.conn_type == "sqlite":
        return f"sqlite:///{connection.host or connection.schema}"
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
