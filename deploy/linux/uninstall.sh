#!/bin/sh
# Takes the units away. The memory stays where it is: delete its folder yourself if you mean to.
#
#   deploy/linux/uninstall.sh
#
# Again is harmless. Lingering is left as it is: other units may need it.
set -eu

units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
folder=${REVERIE_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/reverie}
answers=
if systemctl --user show-environment >/dev/null 2>&1; then answers=yes; fi

for unit in reverie-dream.timer reverie-dream.service reverie.service; do
    [ -e "$units/$unit" ] || continue
    if [ -n "$answers" ]; then
        systemctl --user disable --now "$unit" >/dev/null 2>&1 ||
            systemctl --user stop "$unit" >/dev/null 2>&1 || true
    fi
    rm -f "$units/$unit"
    echo "reverie: removed $units/$unit"
done
if [ -n "$answers" ]; then systemctl --user daemon-reload; fi
echo "reverie: the memory in $folder was not touched"
