"""A PostgreSQL database of its own for a test, on the server that BENCHGATE_TEST_POSTGRES names."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.engine import make_url

from tests.support.requirements import require


@contextmanager
def fresh_database() -> Iterator[str]:
    """SQLAlchemy URL of an empty database that is dropped afterwards. Skips where there is no server."""
    require("postgres")
    server = make_url(os.environ["BENCHGATE_TEST_POSTGRES"]).set(drivername="postgresql")
    name = f"benchgate_test_{uuid.uuid4().hex[:12]}"
    admin = server.render_as_string(hide_password=False)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield server.set(drivername="postgresql+psycopg", database=name).render_as_string(hide_password=False)
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
