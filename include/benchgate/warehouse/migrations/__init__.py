"""Alembic migrations of the warehouse. They run inside the transaction that ``warehouse.migrate`` opens."""
