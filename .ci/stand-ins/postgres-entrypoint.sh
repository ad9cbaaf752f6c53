#!/bin/sh
# What the official image's entry point does with the settings that docker-compose.yaml uses, and no more.
set -eu
: "${POSTGRES_PASSWORD:?is not set; the official image refuses too}"
export PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
data=${PGDATA:-/var/lib/postgresql/data}
if [ ! -s "$data/PG_VERSION" ]; then
  umask 077
  printf '%s\n' "$POSTGRES_PASSWORD" > /tmp/superuser
  # shellcheck disable=SC2086  several arguments
  initdb -D "$data" -U postgres --pwfile=/tmp/superuser ${POSTGRES_INITDB_ARGS:-} > /dev/null
  rm /tmp/superuser
  printf 'host all all all scram-sha-256\n' >> "$data/pg_hba.conf"
  printf "listen_addresses = '*'\nunix_socket_directories = '/var/run/postgresql'\n" >> "$data/postgresql.conf"
fi
exec postgres -D "$data"
