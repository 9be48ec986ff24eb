#!/bin/bash
# The phone's base install on the phone's processor: an arm64 Debian (trixie) under emulation, Reverie
# from wheels, and a phone that is set up, remembers, recalls, dreams and syncs with a cloud on this
# machine. It proves 64-bit ARM, Python 3.13 and the wheels; it does not prove Android's C library.
#
#     deploy/termux/emulated-arm64.sh [--work DIR] [--python HOST_PYTHON]
#
# Needs, as root on Debian or Ubuntu:  apt-get install debootstrap qemu-user-static proot
# and a host Python with this checkout's cloud in it (default: .venv/bin/python). Takes a few minutes
# and 1 GB in DIR (default: a folder in TMPDIR), which a second run uses again. Nothing is mounted and no
# binfmt is set up. Exit codes: 0 all passed, DIR/result.txt says what; 1 a step failed; 2 a wrong option.
set -euo pipefail

tree=$(cd "$(dirname "$0")/../.." && pwd)
work=${TMPDIR:-/tmp}/reverie-arm64
python=$tree/.venv/bin/python
suite=trixie
usage() { sed -n '2,12s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
  case $1 in
    --work) work=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
say() { printf '%s\n' "$*"; }
fail() { printf 'failed: %s\nwhat to do: %s\n' "$1" "$2" >&2; exit 1; }

for tool in debootstrap qemu-aarch64-static proot dpkg; do
  command -v "$tool" >/dev/null || fail "$tool is not installed" 'apt-get install debootstrap qemu-user-static proot'
done
[ "$(id -u)" = 0 ] || fail 'debootstrap wants root' 'run this as root, in a container for instance'
"$python" -c 'import cloud, pip' || fail "$python has no Reverie cloud, or no pip" 'make .venv first (make test), or --python'
mkdir -p "$work"
root=$work/rootfs
result=$work/result.txt
: >"$result"
note() { say "$*" | tee -a "$result"; }

note "date: $(date -u +%Y-%m-%dT%H:%MZ)"
note "host: $(uname -m), $(qemu-aarch64-static --version | head -n 1), proot $(proot --version | grep -o 'v[0-9][0-9.]*' | head -n 1)"

if [ ! -e "$work/unpacked" ]; then
  say 'debootstrap: the first stage of an arm64 Debian…'
  rm -rf "$root"
  debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,ca-certificates "$suite" "$root" \
    >"$work/debootstrap.log" 2>&1 || fail 'debootstrap failed' "read $work/debootstrap.log"
  # The second stage would run every package's scripts under emulation; their files are enough.
  for package in "$root"/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  touch "$work/unpacked"
fi

say 'wheels: ours, and those of its base dependencies for arm64…'
rm -rf "$work/wheels" "$work/site"
mkdir -p "$work/wheels"
version=$(basename "$root"/usr/bin/python3.[0-9]*)
version=${version#python}
"$python" -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir "$work/wheels" "$tree"
platforms=(--platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64)
wanted=(--implementation cp --python-version "$version" --only-binary=:all: "${platforms[@]}")
"$python" -m pip --disable-pip-version-check download --quiet --dest "$work/wheels" "${wanted[@]}" "$work"/wheels/reverie-*.whl
"$python" -m pip --disable-pip-version-check install --quiet --no-index --find-links "$work/wheels" \
  --target "$work/site" "${wanted[@]}" "$work"/wheels/reverie-*.whl
# Bytecode is the same on every processor. Compiling it under emulation takes ten times as long as all the
# rest, so a Python of the same version on this machine does it where there is one.
for same in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python3; do
  command -v "$same" >/dev/null || continue
  "$same" -m compileall -q "$work/site" "$root/usr/lib/python$version" >/dev/null 2>&1 || true
  note "bytecode: compiled on this machine, by a Python $version"
  break
done
note "wheels: $(find "$work/wheels" -name '*.whl' | wc -l), of them for arm64: $(find "$work/wheels" -name '*aarch64*.whl' | wc -l)"

in_phone() {
  env -i HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 PYTHONPATH=/site REVERIE_HOME=/root/phone \
    OPENBLAS_NUM_THREADS=1 \
    proot -q qemu-aarch64-static -r "$root" -b "$work/site:/site" -b "$work/share:/share" \
    -b /proc -b /dev -b /etc/resolv.conf -w /root "$@"
}
rm -rf "$root/root/phone" "$root/root/.local" "$work/share"
mkdir -p "$work/share" "$root/tmp"
say 'a cloud on this machine…'
rm -rf "$work/cloud"
"$python" -c 'from cloud.cli import main; main()' serve --state "$work/cloud" --port 0 --open-enrolment --budget demo >"$work/cloud.log" 2>&1 &
cloud=$!
trap 'kill "$cloud" 2>/dev/null || true; wait "$cloud" 2>/dev/null || true' EXIT
address=
for _ in $(seq 300); do
  address=$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$work/cloud.log" | head -n 1 || true)
  [ -n "$address" ] && break
  kill -0 "$cloud" 2>/dev/null || { cat "$work/cloud.log" >&2; fail 'the cloud did not start' 'the lines above say why'; }
  sleep 0.2
done
[ -n "$address" ] || fail 'the cloud did not say where it listens' "read $work/cloud.log"

cat >"$work/share/selftest.py" <<'PY'
"""Every command in one process: under emulation the imports alone take a minute of processor time."""
import contextlib, io, os, platform, sys, time

# proot 5.1 does not know faccessat2, which this libc asks with: everything would be "not readable".
os.access = lambda path, mode, **_: os.path.exists(path)
began = time.monotonic()


def passed(what):
    global began
    now = time.monotonic()
    print(f"{what}: passed, {now - began:.0f} s", flush=True)
    began = now


import cryptography, msgpack, numpy, pydantic, websockets
from device.interfaces.cli import app

print(platform.machine(), "Python", platform.python_version(), platform.libc_ver()[0], "cryptography",
      cryptography.__version__, "numpy", numpy.__version__, "msgpack", ".".join(map(str, msgpack.version)),
      "pydantic", pydantic.VERSION, "websockets", websockets.__version__)
if platform.machine() != "aarch64":
    sys.exit("this is no arm64")
passed("imports")


def device(what, *arguments, expect=""):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = app(list(arguments), standalone_mode=False)
    if code or expect not in printed.getvalue():
        sys.exit(f"{what}: exit code {code}, no {expect!r} in:\n{printed.getvalue()}")
    passed(what)
    return printed.getvalue()


device("init, with the cloud", "init", "--cloud", sys.argv[1])
device("record", "record", "My dentist is Dr. Alder in Harbour Street.")
device("record, Chinese", "record", "我周五下午三点和小李在南门茶馆见面")
device("recall", "recall", "who is my dentist?", expect="Alder")
device("recall, Chinese", "recall", "和小李在哪里见面？", expect="南门茶馆")
device("dream", "dream", "--now")
print("  " + device("sync, through the privacy gate", "sync", "--now").strip().replace("\n", "; "))
device("status", "status", "--json", expect='"device_id"')
device("recall after all that", "recall", "dentist", expect="Alder")
PY
in_phone python3 /share/selftest.py "$address" 2>"$work/phone.log" | tee -a "$result"
[ "${PIPESTATUS[0]}" = 0 ] || { tail -n 20 "$work/phone.log" >&2; fail 'the emulated phone did not pass' "the lines above say why; all of them: $work/phone.log"; }
note 'all passed'
