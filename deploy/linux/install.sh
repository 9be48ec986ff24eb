#!/bin/sh
# Lets Reverie run by itself on this Linux machine, for this user; nothing needs root.
#
#   deploy/linux/install.sh                 a daemon that watches for the window (laptops, desktops)
#   deploy/linux/install.sh --timer         one try an hour instead (small machines: Raspberry Pi)
#   deploy/linux/install.sh --dry-run       say what would be done
#
# Again is harmless: what is there already stays, units are written anew. Undo: uninstall.sh.
# Environment: REVERIE_HOME     the phone's folder (the user's data folder)
#              REVERIE_PROGRAM  the command to run (reverie-device on the PATH)
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
folder=${REVERIE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/reverie}
kind=daemon
dry=

say() { echo "reverie: $1"; }
fail() {
    echo "reverie: $1" >&2
    exit 1
}
run() {
    if [ -n "$dry" ]; then say "would run: $*"; else "$@"; fi
}

for word; do
    case $word in
    --timer) kind=timer ;;
    --dry-run) dry=yes ;;
    -h | --help)
        sed -n '2,12s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) fail "unknown option $word: see --help" ;;
    esac
done

program=${REVERIE_PROGRAM:-$(command -v reverie-device || true)}
[ -n "$program" ] || fail "reverie-device is not on the PATH: pip install reverie first"
case $program$folder$here in
*[!A-Za-z0-9_./@+:-]*) fail "systemd units take no such path: $program, $folder, $here" ;;
esac
[ "$(id -u)" != 0 ] || [ -n "${REVERIE_AS_ROOT:-}" ] ||
    fail "this is root: install it as the user whose memory it is (REVERIE_AS_ROOT=1 to go on)"

if [ ! -e "$folder/device.toml" ]; then
    say "no phone lives in $folder yet"
    fail "set one up first: REVERIE_HOME=$folder reverie-device init --cloud https://…"
fi

# A unit has no terminal: a passphrase must lie where only this user can read it.
if grep -q '"protector": *"passphrase"' "$folder/vault.json" 2>/dev/null; then
    secret=${XDG_CONFIG_HOME:-$HOME/.config}/reverie/environment
    if ! grep -q '^REVERIE_PASSPHRASE=' "$secret" 2>/dev/null; then
        say "this phone has a passphrase, and a unit cannot be asked for one: put a line"
        say "  REVERIE_PASSPHRASE=…    into $secret (mode 0600),"
        fail "or keep its key in the system's keyring: reverie-device rotate-keys --to os-keyring"
    fi
    case $(stat -c %a "$secret") in
    *00) ;;
    *) fail "others may read $secret: chmod 600 it first" ;;
    esac
fi

# What this machine can tell; reverie-device doctor says the same in full.
battery=
for supply in "${REVERIE_SYS:-/sys}"/class/power_supply/*; do
    [ -e "$supply/type" ] || continue
    [ "$(cat "$supply/scope" 2>/dev/null || true)" != Device ] || continue
    [ "$(cat "$supply/type")" != Battery ] || battery=yes
done
if [ -z "$battery" ]; then
    say "no battery here (a Raspberry Pi, a desktop): mains count as charging"
fi
command -v nmcli >/dev/null ||
    say "NetworkManager is not here: whether the network is metered stays unknown, and counts as no"

run mkdir -p "$units"
for unit in reverie.service reverie-dream.service reverie-dream.timer; do
    if [ -n "$dry" ]; then
        say "would write $units/$unit"
        continue
    fi
    sed -e "s|@PROGRAM@|$program|" -e "s|@HOME_FOLDER@|$folder|" -e "s|@README@|$here/README.md|" \
        "$here/$unit" >"$units/.$unit.new"
    mv "$units/.$unit.new" "$units/$unit"
done

if ! systemctl --user show-environment >/dev/null 2>&1; then
    say "the units are in $units, but this user's systemd does not answer."
    say "log in on a console or by ssh (not su), then run this again"
    [ -n "$dry" ] || exit 1
    exit 0
fi
run systemctl --user daemon-reload
if [ "$kind" = timer ]; then
    run systemctl --user disable --now reverie.service
    run systemctl --user enable --now reverie-dream.timer
else
    run systemctl --user disable --now reverie-dream.timer
    run systemctl --user enable reverie.service
    run systemctl --user restart reverie.service
fi
# Without lingering the units end with the last session, and a Pi has none.
if [ "$(loginctl show-user "$(id -un)" -p Linger --value 2>/dev/null || true)" != yes ]; then
    run loginctl enable-linger ||
        say "it ends when you log out: ask root for \`loginctl enable-linger $(id -un)\`"
fi
say "done; see \`reverie-device doctor\`, \`systemctl --user status reverie\`, \`journalctl --user -u reverie\`"
