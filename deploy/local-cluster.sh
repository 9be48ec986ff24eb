#!/usr/bin/env bash
# A whole cluster on this machine without containers: what the Helm chart starts, as processes on
# loopback.
#
#   deploy/local-cluster.sh up [NAME…]          start whatever does not run; safe to call again
#   deploy/local-cluster.sh status              who runs, and whether the gateways are ready
#   deploy/local-cluster.sh kill NAME…          end components at once, as a crash would (then: up)
#   deploy/local-cluster.sh stop NAME…          end components in good order
#   deploy/local-cluster.sh down [--wipe]       end everything; --wipe removes the folder too
#
# Components, in the order in which they start:
#   postgres  s3  helper  ray-head  ray-a  ray-b  ticker  gateway-a  gateway-b
#
# Settings (environment):
#   REVERIE_CLUSTER        folder of all state; default out/local-cluster
#   REVERIE_CLUSTER_PORT   first of eight ports; default 23400. Needs to be the same at every call.
#   REVERIE_CLUSTER_SERVE  further options of every `serve`, such as "--open-enrolment"
#   PYTHON                 the interpreter Reverie is installed in; default .venv/bin/python
#
# Needs reverie[cloud,ray,postgresql,s3], moto[s3] with flask, PostgreSQL's server programs, openssl
# and curl. Exit codes: 0 done, 1 a component does not run, 2 something is missing or a wrong call.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
parts=$here/local-cluster
DIR=${REVERIE_CLUSTER:-$(dirname "$here")/out/local-cluster}
PORT=${REVERIE_CLUSTER_PORT:-23400}
PYTHON=${PYTHON:-$(dirname "$here")/.venv/bin/python}
RUN=$DIR/run LOGS=$DIR/logs
COMPONENTS=(postgres s3 helper ray-head ray-a ray-b ticker gateway-a gateway-b)
BUCKET=reverie
read -ra SERVE <<<"${REVERIE_CLUSTER_SERVE:-}"

postgres_port=$PORT s3_port=$((PORT + 1)) helper_port=$((PORT + 2)) ray_port=$((PORT + 3))
ticker_port=$((PORT + 4)) gateway_a_port=$((PORT + 5)) gateway_b_port=$((PORT + 6))

say() { echo "local-cluster: $*" >&2; }
die() {
  say "$*"
  exit "${2:-1}"
}

# shellcheck source=deploy/local-cluster/processes.sh
. "$parts/processes.sh"

usage() {
  sed -n '2,/^set -eu/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
}

reverie_cloud() { "$PYTHON" -c 'from cloud.cli import main; main()' "$@"; }

# --- what is made once ------------------------------------------------------------------------

check_tools() {
  local tool
  for tool in openssl curl setsid ps; do
    command -v "$tool" >/dev/null || die "$tool is missing: apt-get install openssl curl util-linux procps" 2
  done
  [ -x "$PYTHON" ] || die "no Python at $PYTHON: run 'make test' once, or set PYTHON" 2
  # Importing them takes seconds: once is enough.
  [ -s "$DIR/tls/chain.pem" ] || "$PYTHON" -c 'import cloud, flask, moto, obstore, psycopg, ray' 2>/dev/null \
    || die "$PYTHON lacks a part: pip install 'reverie[cloud,ray,postgresql,s3]' 'moto[s3]' flask" 2
  # The newest of those that Debian keeps side by side.
  PG=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -1)
  PG=${PG%/initdb}
  [ -n "$PG" ] || die "PostgreSQL's server is missing: apt-get install --no-install-recommends postgresql" 2
}

secret() { # secret FILE: 32 random bytes in hex, made once
  [ -s "$1" ] || (umask 077 && openssl rand -hex 32 >"$1.new" && mv "$1.new" "$1")
}

make_folders() {
  mkdir -p "$DIR" "$RUN" "$LOGS" "$DIR/secrets" "$DIR/tls"
  # PostgreSQL's own user must get through to its folder, and may see nothing else.
  chmod 711 "$DIR"
  chmod 700 "$RUN" "$LOGS" "$DIR/secrets"
  secret "$DIR/secrets/postgres"
  secret "$DIR/secrets/ray"
  secret "$DIR/secrets/helper.token"
}

make_certificates() {
  local tls=$DIR/tls
  [ ! -s "$tls/chain.pem" ] || return 0
  (
    umask 077
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
      -subj "/CN=Reverie local cluster CA" -keyout "$tls/ca.key" -out "$tls/ca.pem" \
      -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign"
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
      -keyout "$tls/server.key" -out "$tls/server.csr"
    openssl x509 -req -in "$tls/server.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" \
      -CAcreateserial -days 365 -out "$tls/server.pem" \
      -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n')
  ) 2>"$LOGS/openssl.log" || die "openssl made no certificate: see $LOGS/openssl.log"
  cat "$tls/server.pem" "$tls/ca.pem" >"$tls/chain.pem"
}

# --- one function for each component: started, and answering when it returns --------------------

# The server refuses to run as root; the package brings a user for it.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  else
    "$@"
  fi
}

start_postgres() {
  local data=$DIR/postgres/data
  if [ ! -s "$data/PG_VERSION" ]; then
    mkdir -p "$DIR/postgres"
    [ "$(id -u)" != 0 ] || chown postgres "$DIR/postgres"
    chmod 700 "$DIR/postgres"
    as_postgres test -w "$DIR/postgres" \
      || die "the user postgres cannot reach $DIR: set REVERIE_CLUSTER to a folder it may enter" 2
    as_postgres tee "$DIR/postgres/password" <"$DIR/secrets/postgres" >/dev/null
    (cd / && as_postgres "$PG/initdb" -D "$data" -U reverie -A scram-sha-256 -E UTF8 --locale=C \
      --pwfile="$DIR/postgres/password" >"$LOGS/initdb.log" 2>&1) \
      || die "initdb failed: see $LOGS/initdb.log"
    rm "$DIR/postgres/password"
  fi
  local command=("$PG/postgres" -D "$data" -c "port=$postgres_port" -c listen_addresses=127.0.0.1
    -c unix_socket_directories= -c shared_buffers=32MB)
  if [ "$(id -u)" = 0 ]; then
    command=(setpriv --reuid=postgres --regid=postgres --clear-groups "${command[@]}")
  fi
  launch postgres "${command[@]}"
  await postgres 30 "$PG/pg_isready" -q -h 127.0.0.1 -p "$postgres_port"
  PGPASSWORD=$(cat "$DIR/secrets/postgres") "$PG/createdb" -h 127.0.0.1 -p "$postgres_port" \
    -U reverie reverie 2>/dev/null || true # there already
}

start_s3() {
  launch s3 "$PYTHON" "$parts/s3_server.py" "$DIR/s3" "$s3_port" "$BUCKET"
  await s3 60 curl -fs -o /dev/null "http://127.0.0.1:$s3_port/$BUCKET?list-type=2"
}

start_helper() {
  launch helper "$PYTHON" -c 'from cloud.cli import main; main()' helper --state "$DIR/helper" \
    --port "$helper_port" --budget demo --token-file "$DIR/secrets/helper.token" --json
  await helper 60 test -s "$LOGS/helper.out"
}

start_ray() { # start_ray NAME OPTIONS…
  local name=$1
  shift
  launch "$name" "$PYTHON" "$parts/ray_node.py" "$@"
  await "$name" 90 grep -q -- --block "$LOGS/$name.out"
}

start_serve() { # start_serve NAME PORT ROLE STATE OPTIONS…
  local name=$1 port=$2 role=$3 state=$4
  shift 4
  launch "$name" "$PYTHON" -c 'from cloud.cli import main; main()' serve --state "$state" \
    --role "$role" --port "$port" --budget demo \
    --tls-cert "$DIR/tls/chain.pem" --tls-key "$DIR/tls/server.key" --json "$@" "${SERVE[@]}"
  await "$name" 120 curl -fs --cacert "$DIR/tls/ca.pem" -o /dev/null "https://localhost:$port/healthz"
}

start_gateway() { # start_gateway NAME PORT: the signing key, as the chart's Secret hands it over
  mkdir -p "$DIR/$1"
  cp -p "$DIR/cloud/signing.key" "$DIR/$1/signing.key"
  start_serve "$1" "$2" gateway "$DIR/$1"
}

start() {
  case $1 in
    postgres) start_postgres ;;
    s3) start_s3 ;;
    helper) start_helper ;;
    # Nothing runs on the head that is not Ray's own: losing it costs no actor.
    ray-head) start_ray ray-head --head "--port=$ray_port" --num-cpus=0 --include-dashboard=false ;;
    ray-a | ray-b) start_ray "$1" "--address=127.0.0.1:$ray_port" --num-cpus=1 ;;
    ticker)
      start_serve ticker "$ticker_port" all "$DIR/cloud" \
        --runtime ray --ray-address "127.0.0.1:$ray_port" \
        --helper "http://127.0.0.1:$helper_port" --helper-token-file "$DIR/secrets/helper.token"
      ;;
    gateway-a) start_gateway gateway-a "$gateway_a_port" ;;
    gateway-b) start_gateway gateway-b "$gateway_b_port" ;;
  esac
}

# --- commands ---------------------------------------------------------------------------------

# Secrets travel by the environment: a command line is for everyone to read.
environment() {
  local password
  password=$(cat "$DIR/secrets/postgres")
  export REVERIE_CLOUD_DATABASE_URL="postgresql://reverie:$password@127.0.0.1:$postgres_port/reverie"
  export REVERIE_CLOUD_BLOBS_URL="s3://$BUCKET/fleet?endpoint=http://127.0.0.1:$s3_port&region=us-east-1"
  export AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local
  export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$DIR/secrets/ray" RAY_USAGE_STATS_ENABLED=0
  # Loopback alone for everything Ray listens on; but a cluster of several nodes all the same.
  export RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 RAY_enable_metrics_collection=0
  export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
  export PYTHONPATH="${here%/*}${PYTHONPATH:+:$PYTHONPATH}"
}

running_ray() { # the nodes' own view: more than one of them
  [[ $1 != ray-* ]] || export RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=1
}

up() { # up [NAME…]: all of them when none is named
  local name
  for name in "$@"; do
    known "$name"
  done
  check_tools
  make_folders
  make_certificates
  environment
  for name in "${COMPONENTS[@]}"; do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
      continue
    fi
    if ! pid_of "$name" >/dev/null; then
      if [ "$name" = ray-head ]; then
        # Nodes of a head that is gone belong to nothing.
        halt ray-a KILL
        halt ray-b KILL
      fi
      (running_ray "$name" && start "$name")
    fi
  done
  pid_of ticker >/dev/null || return 0
  metrics_token
  say "up: https://localhost:$gateway_a_port https://localhost:$gateway_b_port (certificate authority: $DIR/tls/ca.pem)"
}

# What Prometheus shows at /metrics: a viewer's token, made once.
metrics_token() {
  [ ! -s "$DIR/secrets/metrics" ] || return 0
  (umask 077 && reverie_cloud operator add prometheus --days 365 --state "$DIR/cloud" --json \
    >"$DIR/secrets/metrics.json") || die "no token for Prometheus could be made"
  "$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["token"])' \
    "$DIR/secrets/metrics.json" >"$DIR/secrets/metrics"
  chmod 600 "$DIR/secrets/metrics"
  rm "$DIR/secrets/metrics.json"
}

ready() { # ready PORT
  curl -fs -m 5 --cacert "$DIR/tls/ca.pem" -o /dev/null "https://localhost:$1/readyz"
}

status() {
  local name state port all=0
  for name in "${COMPONENTS[@]}"; do
    if pid_of "$name" >/dev/null; then state=running; else state=ended all=1; fi
    case $name in
      ticker) port=$ticker_port ;;
      gateway-a) port=$gateway_a_port ;;
      gateway-b) port=$gateway_b_port ;;
      *) port= ;;
    esac
    if [ -n "$port" ] && [ "$state" = running ]; then
      if ready "$port"; then state=ready; else state="not ready" all=1; fi
    fi
    printf '%-10s %s\n' "$name" "$state"
  done
  return "$all"
}

known() {
  local each
  for each in "${COMPONENTS[@]}"; do
    [ "$each" != "$1" ] || return 0
  done
  die "no component $1: one of ${COMPONENTS[*]}" 2
}

end_all() { # end_all SIGNAL NAME…
  local signal=$1 name
  shift
  [ $# -gt 0 ] || die "name a component: one of ${COMPONENTS[*]}" 2
  for name in "$@"; do
    known "$name"
    end_one "$name" "$signal"
  done
}

end_one() {
  case $1:$2 in
    postgres:TERM) halt postgres INT ;; # its "fast" end; TERM would wait for every session
    *) halt "$1" "$2" 30 ;;
  esac
}

down() {
  local index
  for ((index = ${#COMPONENTS[@]} - 1; index >= 0; index--)); do
    end_one "${COMPONENTS[index]}" TERM
  done
  if [ "${1:-}" = --wipe ]; then
    [ -e "$DIR/run" ] || die "$DIR holds no cluster: nothing removed" 2
    rm -rf "$DIR"
    say "removed $DIR"
  fi
}

case ${1:-} in
  up) up "${@:2}" ;;
  status) status ;;
  kill) end_all KILL "${@:2}" ;;
  stop) end_all TERM "${@:2}" ;;
  down) down "${2:-}" ;;
  -h | --help | help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac
