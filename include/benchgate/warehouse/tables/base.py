"""What all tables share: naming of constraints, column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

# Named constraints, so that a later migration can alter them on both databases.
metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# A moment in UTC: timestamptz on PostgreSQL, ISO 8601 text with a trailing Z on SQLite (sorts and compares as text).
Moment = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
# A calendar day in UTC: date on PostgreSQL, YYYY-MM-DD text on SQLite.
Day = sa.Date().with_variant(sa.Text(), "sqlite")
Json = sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def column(name: str, kind: Any, comment: str, *args: Any, required: bool = False, key: bool = False) -> sa.Column[Any]:
    """One documented column. ``required`` forbids NULL; ``key`` makes it (part of) the primary key."""
    return sa.Column(name, kind, *args, comment=comment, nullable=not (required or key), primary_key=key)


def id_column(table: str, of: str) -> sa.Column[Any]:
    """A primary key made by ``names.stable_id``: the same natural key gives the same id on every load."""
    return column(f"{table}_id", sa.BigInteger(), f"stable id of {of}", key=True)


def parent(name: str, target: str, comment: str, *, required: bool = True, key: bool = False) -> sa.Column[Any]:
    """A reference to a parent row; the child goes when the parent does."""
    foreign = sa.ForeignKey(target, ondelete="CASCADE")
    return column(name, sa.BigInteger(), comment, foreign, required=required, key=key)
