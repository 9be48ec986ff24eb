#!@PREFIX@/bin/sh
# Without Android's job: Reverie runs all the time and reads the conditions by itself.
set -eu
export PREFIX='@PREFIX@' REVERIE_HOME='@HOME@'
export PATH="$PREFIX/bin:/system/bin" TMPDIR="${TMPDIR:-$PREFIX/tmp}"
export TERMUX_VERSION="${TERMUX_VERSION:-unknown}"
unset REVERIE_JOB_GATE # nobody has promised anything

umask 077
exec 9>'@ROOT@/run.lock'
flock 9 # waits for an upgrade to end
exec '@ROOT@/venv/bin/reverie-device' run
