#!/usr/bin/env bash
# Makes the secrets that docker-compose.yaml mounts, each in a file of its own that only its reader can
# open. What is there already stays: run it as often as you like.
#
#   sudo ./secrets.sh HOST        all of them, and a certificate for HOST signed by an authority of its
#                                 own (for tests: put your own tls_chain.pem and tls_key.pem in its place)
#   sudo ./secrets.sh --metrics   Prometheus' token, once the cloud runs
#
# Needs openssl; root, because each container reads as another user. Exit codes: 0 done, 2 a wrong call or
# something is missing.
set -euo pipefail
umask 077
cd "$(dirname "${BASH_SOURCE[0]}")"

die() {
  echo "secrets: $*" >&2
  exit 2
}

hex() { openssl rand -hex "$1"; }

# make FILE COMMAND…: a file with the command's output, unless it is there
make() {
  local file=secrets/$1
  shift
  [ -s "$file" ] || { "$@" >"$file.new" && mv "$file.new" "$file"; }
}

certificate() { # certificate HOST
  [ ! -s secrets/tls_chain.pem ] || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=Reverie test CA" \
    -keyout secrets/ca.key -out secrets/ca.pem -addext "basicConstraints=critical,CA:TRUE" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
    -keyout secrets/tls_key.pem -out secrets/tls.csr 2>/dev/null
  openssl x509 -req -in secrets/tls.csr -CA secrets/ca.pem -CAkey secrets/ca.key -CAcreateserial -days 365 \
    -extfile <(printf 'subjectAltName=DNS:%s\n' "$1") -out secrets/tls.pem 2>/dev/null
  cat secrets/tls.pem secrets/ca.pem >secrets/tls_chain.pem
}

storage() {
  printf '{"database_url": "postgresql://reverie:%s@database/reverie", "blobs_url": "%s"}\n' \
    "$(cat secrets/database_password)" "s3://reverie/fleet?endpoint=http://store:8333&region=us-east-1"
}

s3_config() {
  printf '{"identities": [{"name": "reverie", "credentials": [{"accessKey": "%s", "secretKey": "%s"}], "actions": ["Admin", "Read", "Write", "List"]}]}\n' \
    "$(cat secrets/s3_access)" "$(cat secrets/s3_secret)"
}

s3_environment() {
  printf 'AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\n' "$(cat secrets/s3_access)" "$(cat secrets/s3_secret)"
}

ray_environment() {
  printf 'RAY_AUTH_MODE=token\nRAY_AUTH_TOKEN=%s\nRAY_USAGE_STATS_ENABLED=0\nRAY_task_events_report_interval_ms=0\n' "$(hex 32)"
}

# The users inside the images: 10001 reverie, 70 postgres, 65534 prometheus, 472 grafana, 0 the store.
own() {
  chown -R 10001:10001 secrets/keys
  local file
  for file in storage.json signing.key tls_chain.pem tls_key.pem helper.token; do
    chown 10001:10001 "secrets/$file"
  done
  chown 70:70 secrets/database_password
  chown 65534:65534 secrets/metrics_token
  chown 472:472 secrets/grafana_password
}

all() {
  mkdir -p secrets/keys
  make database_password hex 32
  make s3_access hex 10
  make s3_secret hex 20
  make s3.json s3_config
  make s3.env s3_environment
  make ray.env ray_environment
  make storage.json storage
  make signing.key openssl rand 32
  make helper.token hex 32
  make grafana_password hex 12
  make metrics_token echo none-yet
  certificate "$1"
  own
  echo "secrets: made in $PWD/secrets; back up signing.key and keys/ where nobody else gets at them"
}

metrics() {
  local said
  said=$(docker compose exec -T ticker reverie-cloud operator add prometheus --days 365 --json) \
    || die "the cloud made no token: does 'docker compose exec ticker reverie-cloud status' answer?"
  # Written in place: the container has this very file mounted.
  sed -n 's/.*"token": *"\([0-9a-f]*\)".*/\1/p' <<<"$said" >secrets/metrics_token
  echo "secrets: Prometheus has a token for a year"
}

command -v openssl >/dev/null || die "openssl is missing: apt-get install openssl"
[ "$(id -u)" = 0 ] || die "run it as root: each container reads its secrets as another user"
case ${1:-} in
  --metrics) metrics ;;
  "" | -*) die "usage: secrets.sh HOST, or secrets.sh --metrics" ;;
  *) all "$1" ;;
esac
