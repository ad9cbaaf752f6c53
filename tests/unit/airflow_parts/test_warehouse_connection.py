"""What the Airflow connection of the warehouse may be."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import Connection

from benchgate.airflow.warehouse import CONNECTION_ID, warehouse_url
from benchgate.errors import WarehouseError

PLACE: dict[str, Any] = {"conn_id": CONNECTION_ID, "host": "db.example.net", "schema": "bench", "port": 5433}


def _use(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    connection = Connection(**{**PLACE, **values})
    monkeypatch.setattr(Connection, "get", classmethod(lambda cls, name: connection))


@pytest.mark.parametrize("kind", ["postgres", "postgresql"])
def test_a_connection_to_postgres_is_the_warehouse(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    _use(monkeypatch, conn_type=kind, login="ada", password="p@ss/word")

    assert warehouse_url() == "postgresql+psycopg://ada:p%40ss%2Fword@db.example.net:5433/bench"


def test_a_connection_to_sqlite_is_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, conn_type="sqlite", host="/data/warehouse.db", schema=None, port=None)

    assert warehouse_url() == "sqlite:////data/warehouse.db"


@pytest.mark.parametrize("kind", ["mysql", "http", ""])
def test_another_kind_of_connection_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    _use(monkeypatch, conn_type=kind)

    with pytest.raises(WarehouseError, match=f"{CONNECTION_ID} is of type"):
        warehouse_url()
