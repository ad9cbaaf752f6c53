"""The asset that a campaign updates when its run is in the warehouse; the report DAG waits for it."""

from __future__ import annotations

from airflow.sdk import Asset

WAREHOUSE = Asset(name="benchgate_warehouse", uri="x-benchgate://warehouse")
