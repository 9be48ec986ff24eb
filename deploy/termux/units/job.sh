#!@PREFIX@/bin/sh
# Android's scheduler starts this when the phone is idle, charging and on an unmetered network.
# It is told nothing when that ends: Reverie looks for itself and stops, and this script ends it
# after 585 s in any case; the next job comes by itself.
set -eu
export PREFIX='@PREFIX@' REVERIE_HOME='@HOME@'
export PATH="$PREFIX/bin:/system/bin" TMPDIR="${TMPDIR:-$PREFIX/tmp}"
export TERMUX_VERSION="${TERMUX_VERSION:-unknown}"
export REVERIE_JOB_GATE=idle,charging,unmetered
log='@ROOT@/run.log'

umask 077
exec 9>'@ROOT@/run.lock'
flock -n 9 || exit 0 # the run before is not over, or an upgrade is under way
if [ -f "$log" ] && [ "$(wc -c <"$log")" -gt 262144 ]; then mv -f "$log" "$log.old"; fi
exec >>"$log" 2>&1
date
code=0
timeout -k 5 580 '@ROOT@/venv/bin/reverie-device' run || code=$?
case $code in
  124) echo 'the time of one job is over' ;;
  137) echo 'it did not stop in time and was killed; nothing acknowledged is lost' ;;
  *) exit "$code" ;;
esac
