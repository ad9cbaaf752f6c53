#!/bin/sh
# The databases and roles of a site, as .env wants them. Runs at every start and changes nothing that is right already,
# so that a password is rotated by a new value in .env and `docker compose up -d`.
#
# airflow            owns the metadata database, and nothing else
# benchgate          owns the warehouse: migrates it, and is used by nothing that runs a campaign
# benchgate_loader   reads and writes rows of the warehouse: the workers and the pages
# benchgate_reader   reads the warehouse: for people and dashboards
#
# Passwords come from the environment: they stand in no command line, and no statement with one is logged.
set -eu
: "${PGHOST:?}" "${PGPASSWORD:?}" "${AIRFLOW_DB_PASSWORD:?}" "${WAREHOUSE_DB_PASSWORD:?}"
: "${BENCHGATE_LOADER_PASSWORD:?}" "${BENCHGATE_READER_PASSWORD:?}"
refused=
long_enough() {  # NAME VALUE: the length that the Airflow containers ask of their secrets, too
    [ "${#2}" -ge 16 ] && return
    echo "refused to start: $1 has ${#2} characters; at least 16 are needed" >&2
    refused=1
}
long_enough POSTGRES_PASSWORD "$PGPASSWORD"
long_enough AIRFLOW_DB_PASSWORD "$AIRFLOW_DB_PASSWORD"
long_enough WAREHOUSE_DB_PASSWORD "$WAREHOUSE_DB_PASSWORD"
long_enough BENCHGATE_LOADER_PASSWORD "$BENCHGATE_LOADER_PASSWORD"
long_enough BENCHGATE_READER_PASSWORD "$BENCHGATE_READER_PASSWORD"
if [ -n "$refused" ]; then
    echo "correct .env. The server has the POSTGRES_PASSWORD of its first start: to change that one, remove its volume" \
        "(a new site), or give both the new one (docker compose exec postgres psql -U postgres -c '\\password')" >&2
    exit 78
fi
psql -v ON_ERROR_STOP=1 -qX --username postgres --dbname postgres <<'SQL'
SET client_min_messages = warning;
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['airflow', 'benchgate', 'benchgate_loader', 'benchgate_reader']) name
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
SELECT format('CREATE DATABASE %I OWNER %I', name, name) FROM unnest(ARRAY['airflow', 'benchgate']) name
 WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name) \gexec
REVOKE CONNECT ON DATABASE airflow, benchgate, postgres FROM PUBLIC;
\getenv airflow AIRFLOW_DB_PASSWORD
\getenv owner WAREHOUSE_DB_PASSWORD
\getenv loader BENCHGATE_LOADER_PASSWORD
\getenv reader BENCHGATE_READER_PASSWORD
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
SET password_encryption = 'scram-sha-256';
ALTER ROLE airflow LOGIN PASSWORD :'airflow';
ALTER ROLE benchgate LOGIN PASSWORD :'owner';
ALTER ROLE benchgate_loader LOGIN PASSWORD :'loader';
ALTER ROLE benchgate_reader LOGIN PASSWORD :'reader';
SQL
echo "databases and roles are as .env wants them"
