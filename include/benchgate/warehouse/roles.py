"""Least privilege on PostgreSQL: who loads may write rows, who reads may only read, neither may change a table.

Passwords come from the environment, are hashed here, and appear in no statement, message or server log.
"""

from __future__ import annotations

import os

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate import secrets
from benchgate.errors import WarehouseError
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.warehouse.migrate import VERSION_TABLE
from benchgate.warehouse.tables import view_text

LOADER = "benchgate_loader"
READER = "benchgate_reader"
PASSWORDS = {LOADER: "BENCHGATE_LOADER_PASSWORD", READER: "BENCHGATE_READER_PASSWORD"}
# what only a migration writes
_OWNERS_ONLY = (VERSION_TABLE, view_text.name)


def role_statements(database: str, schema: str = "public") -> list[str]:
    """The SQL that makes both roles, safe to run again. The role that migrates the warehouse runs it, after migrating.

    Args:
        database: name of the warehouse's database.
        schema: schema that holds the warehouse.
    """
    database, schema = _quoted(database), _quoted(schema)
    return [
        *(
            # looked for first: who may not create roles may still grant to those that an administrator made
            f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') "
            f"THEN CREATE ROLE {role} NOLOGIN; END IF; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
            for role in (LOADER, READER)
        ),
        f"GRANT CONNECT ON DATABASE {database} TO {LOADER}, {READER}",
        f"GRANT USAGE ON SCHEMA {schema} TO {LOADER}, {READER}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {LOADER}, {READER}",
        f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {LOADER}",
        f"REVOKE INSERT, UPDATE, DELETE ON {', '.join(f'{schema}.{name}' for name in _OWNERS_ONLY)} FROM {LOADER}",
        # a later migration makes new tables and recreates views: they are granted as they are made
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {LOADER}, {READER}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT INSERT, UPDATE, DELETE ON TABLES TO {LOADER}",
    ]


def create_roles(url: str | None = None) -> dict[str, bool]:
    """Make both roles in the warehouse; returns role -> whether it can log in.

    A role whose password is in the environment (``BENCHGATE_LOADER_PASSWORD``, ``BENCHGATE_READER_PASSWORD``) may log
    in with it. The other one is left without a login, to be granted to people or given a password later.

    Raises:
        WarehouseError: SQLite (which has no roles), or the user may not create roles.
    """
    engine = open_warehouse(url)
    try:
        if engine.dialect.name != "postgresql":
            raise WarehouseError(
                "a SQLite warehouse has no roles", remedy="who may read or write the file decides who may use it"
            )
        with writing(engine) as connection:
            schema = connection.execute(sa.text("SELECT current_schema()")).scalar_one()
            for statement in role_statements(str(engine.url.database), str(schema)):
                connection.exec_driver_sql(statement)
            return {role: _set_password(connection, role) for role in (LOADER, READER)}
    finally:
        engine.dispose()


def _set_password(connection: Connection, role: str) -> bool:
    password = os.environ.get(PASSWORDS[role])
    if password:
        secrets.register(password)
        driver = connection.connection.driver_connection
        assert driver is not None
        # hashed on this side: the server's log never sees the password
        hashed = driver.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        connection.exec_driver_sql(f"ALTER ROLE {role} LOGIN PASSWORD '{hashed}'")
    return bool(
        connection.execute(sa.text("SELECT rolcanlogin FROM pg_roles WHERE rolname = :role"), {"role": role}).scalar()
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
