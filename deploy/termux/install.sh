#!/bin/sh
# Sets Reverie up in Termux on an Android phone, or upgrades it. Run it in Termux:
#
#     sh deploy/termux/install.sh                       from a checkout
#     sh install.sh --wheel reverie-….whl               from a wheel
#     sh install.sh -- --cloud https://… --token …      and set the phone up (reverie-device init …)
#
# It may be run again at any time: what is done already is skipped, what was interrupted is taken
# up again, and the phone's memory is never touched. Exit codes: 0 done; 1 a step failed, and the
# last lines say what to do; 2 a wrong option.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
source_tree=$(CDPATH='' cd -- "$here/../.." 2>/dev/null && pwd || echo "$here")
wheel=
mode=auto
wheels=

usage() {
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  cat <<'TEXT'
Options:
  --wheel FILE      install this wheel instead of the checkout this script lies in
  --wheels DIR      take ready wheels (pydantic-core built on another phone, say) from DIR first
  --mode MODE       auto (default): Android's scheduler where it has the idle gate, else polling;
                    job: the scheduler or nothing;  poll: never the scheduler
  -h, --help        this text
TEXT
}

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
fail() {
  printf '\nstopped: %s\n' "$1" >&2
  printf 'what to do: %s\n' "$2" >&2
  printf 'then run this script again: it goes on where it stopped.\n' >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --wheel) [ $# -ge 2 ] || { usage >&2; exit 2; }; wheel=$2; shift 2 ;;
    --wheels) [ $# -ge 2 ] || { usage >&2; exit 2; }; wheels=$2; shift 2 ;;
    --mode) [ $# -ge 2 ] || { usage >&2; exit 2; }; mode=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) printf 'unknown option %s\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
done
case $mode in auto | job | poll) ;; *) printf 'no such mode: %s\n' "$mode" >&2; exit 2 ;; esac

# --- where we are ---

case ${PREFIX:-} in
  */usr) ;;
  *) fail 'this is no Termux: PREFIX is not set' 'open the Termux app and run this script there' ;;
esac
[ -x "$PREFIX/bin/pkg" ] || fail "$PREFIX has no pkg" 'open the Termux app and run this script there'
[ -n "${HOME:-}" ] || fail 'HOME is not set' 'run this script in a Termux session, not over adb or as root'
case ${TERMUX_VERSION:-} in
  googleplay*) say "note: Termux from Google Play has its own Termux:API; do not mix it with F-Droid's or GitHub's." ;;
esac
umask 077
export PATH="$PREFIX/bin:$PATH" TMPDIR="${TMPDIR:-$PREFIX/tmp}"
root=$HOME/.reverie
home=${REVERIE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/reverie}
venv=$root/venv
built=$root/wheels
case $root$home in
  *[!A-Za-z0-9._/-]*) fail "a path holds more than letters, digits and ._/-: $root, $home" 'set REVERIE_HOME to a plain path' ;;
esac
mkdir -p "$root" "$built" "$TMPDIR"
# shellcheck source=deploy/termux/lib.sh
. "$here/lib.sh"

# --- 1. Termux's own packages ---

step 'Packages of Termux (1 of 5)'
while read -r package why; do
  if dpkg -s "$package" 2>/dev/null | grep -q '^Status: .* installed$'; then
    say "  $package: there already"
    continue
  fi
  say "  $package: $why"
  pkg install -y "$package" </dev/null || fail "pkg could not install $package" \
    "check the network, run 'pkg update' (or 'termux-change-repo' for another mirror)"
done <<'TEXT'
python runs Reverie
python-cryptography seals the memory; has no ready wheel for Android elsewhere
python-numpy the small models; has no ready wheel for Android elsewhere
python-msgpack the format of what is stored and sent; the same
termux-api asks Android for battery and Wi-Fi, and registers the job
termux-services starts the poller where there is no job
util-linux flock: one run at a time
coreutils timeout: no call and no run may last for ever
TEXT

# --- 2. an environment of its own ---

step 'An environment that sees them (2 of 5)'
# Nothing may run in it while it changes; a job ends by itself within ten minutes.
pause_poller
exec 9>"$root/run.lock"
if ! flock -n 9; then
  say '  a run is under way; waiting for it to end (at most ten minutes)…'
  flock -w 600 9 || fail 'another run does not end' "stop it: 'sv down reverie', or close Termux and open it again"
fi
python_now=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ "$(cat "$venv/made-with" 2>/dev/null || true)" = "$python_now" ] && "$venv/bin/python" -c '' 2>/dev/null; then
  say "  $venv: there already (Python $python_now)"
else
  # A half-made one, or one of the Python before `pkg upgrade`: its packages are no use now.
  rm -rf "$venv"
  python -m venv --system-site-packages "$venv" || fail 'python could not make an environment' \
    "free some space, or 'pkg reinstall python'"
  echo "$python_now" >"$venv/made-with"
  say "  made $venv (Python $python_now)"
fi
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }

# --- 3. pydantic ---

step 'pydantic (3 of 5)'
if "$venv/bin/python" -c 'import pydantic; pydantic.TypeAdapter(int)' 2>/dev/null; then
  say '  there already'
else
  say '  its core is written in Rust, and neither Termux nor anybody else has it ready for Android.'
  # Its own wheel folder keeps what was built: an upgrade or another phone need not build again.
  if pip install --quiet --no-index --find-links "${wheels:-$built}" --find-links "$built" pydantic 2>/dev/null; then
    say '  installed from a wheel built before'
  else
    free_mb=$(df -Pk "$HOME" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "${free_mb:-0}" -ge 1500 ] || fail "building it takes 1500 MB for a while; ${free_mb:-0} MB are free" \
      'free some space, or bring a wheel built on another phone: --wheels DIR'
    if ! dpkg -s rust 2>/dev/null | grep -q '^Status: .* installed$'; then
      say "  rust: builds it; may be removed afterwards ('pkg uninstall rust')"
      pkg install -y rust </dev/null || fail 'pkg could not install rust' "run 'pkg update', check the network"
    fi
    say '  building: 10 to 60 minutes; keep the phone on its charger and Termux in sight'
    limited termux-wake-lock >/dev/null 2>&1 || true
    # maturin reads the level from the environment: Termux's own Python says 24 as well.
    ANDROID_API_LEVEL=24 pip wheel --quiet --wheel-dir "$built" --find-links "$built" 'pydantic>=2.9' \
      || fail 'pydantic could not be built' \
        "if it was killed (signal 9), Android's phantom process killer did it: see README.md; else 'pkg upgrade'"
    pip install --quiet --no-index --find-links "$built" pydantic \
      || fail 'the pydantic just built does not install' "remove $built and try again"
    say "  built; kept in $built"
  fi
  "$venv/bin/python" -c 'import pydantic; pydantic.TypeAdapter(int)' \
    || fail 'pydantic does not run' "remove $built and $venv and try again"
fi

# --- 4. Reverie ---

step 'Reverie (4 of 5)'
package=${wheel:-$source_tree}
[ -f "$package" ] || [ -f "$package/pyproject.toml" ] \
  || fail "there is nothing to install at $package" 'give --wheel FILE, or run the script from a checkout'
# Never from source: a bound that Termux's packages do not meet must say so, not start a C build.
pip install --quiet --upgrade --only-binary cryptography,numpy,msgpack,pydantic-core \
  --find-links "$built" ${wheels:+--find-links "$wheels"} "$package" \
  || fail 'pip could not install Reverie' "run 'pkg upgrade' (Termux's packages may be too old), check the network"
ln -sf "$venv/bin/reverie-device" "$PREFIX/bin/reverie-device"
if [ -n "$wheel" ]; then # the same version built anew would be skipped
  pip install --quiet --no-deps --force-reinstall "$wheel" || fail 'pip could not install Reverie' 'the line above says why'
fi
say "  $("$venv/bin/python" -c 'from importlib.metadata import version; print("reverie", version("reverie"))')"
install_scripts "$here" "$root" "$home"
export REVERIE_HOME="$home"
if [ -f "$home/device.toml" ]; then
  say "  the phone in $home is kept as it is"
elif [ $# -gt 0 ]; then
  reverie-device init "$@" || fail 'the phone could not be set up' 'the line above says why'
else
  say "  no phone is set up yet:  reverie-device init   (or with --cloud and --token; see --help)"
fi
exec 9>&-

# --- 5. who starts it ---

step 'Who starts it (5 of 5)'
chosen=poll
if [ "$mode" != poll ]; then
  if register_job "$root/job.sh"; then
    chosen=job
  elif [ "$mode" = job ]; then
    fail 'Android does not take the job' 'the line above says why; --mode poll does without it'
  fi
fi
if [ "$chosen" = job ]; then
  remove_poller
  say "  Android starts Reverie when the phone is idle, charging and on an unmetered network: also after a reboot."
else
  cancel_job
  start_poller "$here" "$root"
fi
echo "$chosen" >"$root/mode"
say ''
say "Done. See what the phone sees:  reverie-device status"
