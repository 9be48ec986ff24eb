#!/bin/sh
# Takes Reverie out of Termux again. The phone's memory stays unless --erase is given.
#
#     sh ~/.reverie/uninstall.sh            remove program, job and service
#     sh ~/.reverie/uninstall.sh --erase    and the memory, for good (asks first; --yes does not)
#
# May be run again. Exit codes: 0 done; 1 not done, the last line says why; 2 a wrong option.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
erase=no
sure=no
say() { printf '%s\n' "$*"; }

for option in "$@"; do
  case $option in
    --erase) erase=yes ;;
    --yes) sure=yes ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf 'unknown option %s\n' "$option" >&2; exit 2 ;;
  esac
done
case ${PREFIX:-} in
  */usr) ;;
  *) say 'this is no Termux: open the Termux app and run this there' >&2; exit 1 ;;
esac
export PATH="$PREFIX/bin:$PATH"
root=$HOME/.reverie
home=${REVERIE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/reverie}
# shellcheck source=deploy/termux/lib.sh
. "$here/lib.sh"

if [ "$erase" = yes ] && [ "$sure" = no ]; then
  printf 'Erase everything this phone remembers, in %s, for good? Type yes: ' "$home"
  read -r answer || answer=
  [ "$answer" = yes ] || { say 'Nothing was changed.'; exit 1; }
fi

cancel_job
say "job $JOB: cancelled, if there was one"
remove_poller
say 'service and boot script: removed'
mkdir -p "$root"
exec 9>"$root/run.lock"
flock -w 600 9 || { say 'a run does not end: close Termux, open it, try again' >&2; exit 1; }
rm -f "$PREFIX/bin/reverie-device"
rm -rf "$root"
say "$root: removed"
if [ "$erase" = yes ]; then
  rm -rf "$home"
  say "$home: erased"
elif [ -d "$home" ]; then
  say "the memory stays in $home: install.sh finds it again, --erase would have removed it"
fi
say "Termux's packages stay, others may need them:  pkg uninstall rust termux-services …"
