"""Alembic's entry point. The connection, with its transaction and lock, comes from ``warehouse.migrate``."""

from alembic import context

from benchgate.warehouse.tables import metadata

VERSION_TABLE = "benchgate_migration"  # its own name: the database may hold other people's Alembic tables too

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite alters a table by copying it
    transaction_per_migration=False,
)
context.run_migrations()
