#!/bin/sh
# Runs once, on an empty data volume: two databases, each with a role of its own that owns only that.
set -eu
: "${AIRFLOW_DB_PASSWORD:?}" "${WAREHOUSE_DB_PASSWORD:?}"
psql -v ON_ERROR_STOP=1 -v airflow="$AIRFLOW_DB_PASSWORD" -v warehouse="$WAREHOUSE_DB_PASSWORD" \
  --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE airflow LOGIN PASSWORD :'airflow';
CREATE DATABASE airflow OWNER airflow;
REVOKE CONNECT ON DATABASE airflow FROM PUBLIC;
CREATE ROLE benchgate LOGIN PASSWORD :'warehouse';
CREATE DATABASE benchgate OWNER benchgate;
REVOKE CONNECT ON DATABASE benchgate FROM PUBLIC;
SQL
