#!/bin/sh
# Walks an Android emulator through unplugged -> charging -> Wi-Fi -> idle -> interrupted, and shows
# how the window of a Reverie that runs on this computer follows.
#
#   deploy/emulator/walk.sh [SERIAL]          SERIAL as `adb devices` lists it (emulator-5554)
#
# Start the runtime first, in another terminal:
#
#   reverie-device init --home /tmp/walk && reverie-device run --home /tmp/walk --adb SERIAL
#
# Environment: REVERIE_HOME   the phone's folder, as given to `run`
#              WALK_TRIES     looks before a step counts as failed (60)
#              WALK_PAUSE     seconds between two looks (0.5)
#
# Only an emulator is walked: a real phone would be left unplugged in software. Whatever happens,
# the emulator is put back as it was. Exit codes: 0 every step was followed, 1 one was not,
# 2 it could not start.
set -eu

serial=${1:-emulator-5554}
tries=${WALK_TRIES:-60}
pause=${WALK_PAUSE:-0.5}

fail() {
    echo "walk: $1" >&2
    exit "${2:-2}"
}

on() { adb -s "$serial" shell "$1" >/dev/null; }

# The daemon's own answer, as one line: idle, charging, unmetered, window_open.
seen() {
    reverie-device status --json | python3 -c '
import json, sys
now = json.load(sys.stdin)["conditions"]
names = ("idle", "charging", "unmetered", "window_open")
print(" ".join("{}={}".format(name, {True: "yes", False: "no", None: "unknown"}[now[name]]) for name in names))'
}

expect() {
    step=$1
    want=$2
    looked=0
    while now=$(seen) && [ "$now" != "$want" ]; do
        looked=$((looked + 1))
        if [ "$looked" -ge "$tries" ]; then
            fail "$step: wanted $want, the daemon says $now; is it run with --adb $serial?" 1
        fi
        sleep "$pause"
    done
    echo "$step: $now"
}

put_back() {
    trap - EXIT INT TERM
    on 'dumpsys battery reset; svc wifi enable; input keyevent 224' || true
}

case $serial in
'' | -* | *[!A-Za-z0-9._:%-]*) fail "'$serial' is no serial: see \`adb devices\`" ;;
esac
for tool in adb python3 reverie-device; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
done
[ "$(adb -s "$serial" get-state 2>/dev/null)" = device ] ||
    fail "no phone answers as $serial: start the emulator, see \`adb devices\`"
case $(adb -s "$serial" shell getprop ro.kernel.qemu)$(adb -s "$serial" shell getprop ro.boot.qemu) in
*1*) ;;
*) fail "$serial is no emulator: a real phone is not walked" ;;
esac
seen >/dev/null || fail "no daemon answers: start \`reverie-device run --adb $serial\` first"

trap 'put_back' EXIT
trap 'exit 2' INT TERM

on 'input keyevent 224; svc wifi disable; dumpsys battery unplug'
expect unplugged 'idle=no charging=no unmetered=no window_open=no'
# `unplug` leaves the status at "charging": both are set.
on 'dumpsys battery set ac 1; dumpsys battery set status 2'
expect charging 'idle=no charging=yes unmetered=no window_open=no'
on 'svc wifi enable'
expect wi-fi 'idle=no charging=yes unmetered=yes window_open=no'
on 'input keyevent 223'
expect idle 'idle=yes charging=yes unmetered=yes window_open=yes'
on 'input keyevent 224'
expect interrupted 'idle=no charging=yes unmetered=yes window_open=no'
echo 'the window followed every step'
