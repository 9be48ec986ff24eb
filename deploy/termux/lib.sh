# shellcheck shell=sh
# What install.sh and uninstall.sh share: the job, the poller, the scripts. Sourced, not run.

JOB=7301
PERIOD_MS=900000 # Android's shortest period; the runtime itself decides whether to sync
API_SECONDS=${REVERIE_API_SECONDS:-15}
BOOT_FILE=20-reverie

# Any call to Termux:API can hang for ever. `timeout` has a process group of its own and kills all of it.
limited() { timeout -k 2 "$API_SECONDS" "$@" </dev/null; }

# fill FILE FROM: a script with this installation's places written in.
fill() {
  sed -e "s|@PREFIX@|$PREFIX|g" -e "s|@ROOT@|$fill_root|g" -e "s|@HOME@|$fill_home|g" "$2" >"$1.new"
  chmod 700 "$1.new"
  mv -f "$1.new" "$1"
}

# install_scripts HERE ROOT PHONE
install_scripts() {
  fill_root=$2 fill_home=$3
  fill "$2/job.sh" "$1/units/job.sh"
  fill "$2/poll.sh" "$1/units/poll.sh"
  cp "$1/lib.sh" "$2/lib.sh"
  cp "$1/uninstall.sh" "$2/uninstall.sh"
  cp -r "$1/units" "$2/"
}

# register_job SCRIPT: whether Android took the job with its idle gate; says why not.
# The packaged termux-job-scheduler has no --idle, so its helper is called as it calls it. Never with
# "network none": that crashes the app, and then neither list nor cancel work (termux-api PR 659).
register_job() {
  helper=$PREFIX/libexec/termux-api
  if [ ! -x "$helper" ]; then
    say "  no $helper: 'pkg reinstall termux-api'"
    return 1
  fi
  reply=$(limited "$helper" JobScheduler --ei job_id "$JOB" --es script "$1" --ei period_ms "$PERIOD_MS" \
    --es network unmetered --ez charging true --ez battery_not_low true --ez idle true --ez persisted true) || reply=
  case $reply in
    '')
      say '  Termux:API gives no answer. Is its app installed, from where Termux itself came from, opened once,'
      say '  and free of battery restrictions? (README.md, "When something is wrong")'
      ;;
    *"response 0"*) say '  Android refused the job: remove other jobs (termux-job-scheduler --pending), try again.' ;;
    *"response 1"*"(while idle)"* | *"(while idle)"*"response 1"*)
      say "  Android took job $JOB: (while idle) confirmed."
      return 0
      ;;
    *"response 1"*)
      say '  This Termux:API does not pass the idle flag on: a job would also start while you use the phone.'
      ;;
    *'No such file'* | *'Cannot '* | *'No script'*)
      say "  Termux:API cannot start $1: it must lie below Termux's home and be executable."
      ;;
    *'"error"'* | *API_ERROR*) say '  Termux:API refuses: open its app once and grant what it asks for.' ;;
    *) say '  Termux:API answers with something unknown: update its app, and the package termux-api.' ;;
  esac
  return 1
}

cancel_job() {
  command -v termux-job-scheduler >/dev/null || return 0
  limited termux-job-scheduler --cancel --job-id "$JOB" >/dev/null 2>&1 || true
}

# start_poller HERE ROOT: without the job, a process of our own looks for itself.
start_poller() {
  say '  Polling: Reverie looks for itself. It sees idle and unmetered only with one more permission, given once'
  say '  from a computer:  adb shell pm grant com.termux android.permission.DUMP   (until then it only charges)'
  service=$PREFIX/var/service/reverie
  fill_root=$2 fill_home=${home:-}
  mkdir -p "$service/log" "$HOME/.termux/boot"
  fill "$service/run" "$1/units/service-run"
  fill "$service/log/run" "$1/units/service-log-run"
  fill "$HOME/.termux/boot/$BOOT_FILE" "$1/units/boot"
  for entry in "$HOME/.termux/boot"/*; do
    if [ -d "$entry" ]; then
      say "  warning: $entry is a folder; Termux:Boot stops at it and starts nothing after it. Move it away."
    fi
  done
  # shellcheck source=/dev/null
  if [ -f "$PREFIX/etc/profile.d/start-services.sh" ]; then . "$PREFIX/etc/profile.d/start-services.sh" || true; fi
  if command -v sv-enable >/dev/null && sv-enable reverie >/dev/null 2>&1; then
    say "  The service 'reverie' runs it; after a reboot the Termux:Boot app does (install it, open it once)."
  else
    say "  The service 'reverie' is there but does not run yet: close Termux, open it, then 'sv-enable reverie'."
  fi
}

# A running poller holds the lock for ever; start_poller starts it again.
pause_poller() {
  if [ -d "$PREFIX/var/service/reverie" ]; then sv down reverie >/dev/null 2>&1 || true; fi
}

# remove_poller: the service, and what starts it after a reboot
remove_poller() {
  service=$PREFIX/var/service/reverie
  if [ -d "$service" ]; then
    sv-disable reverie >/dev/null 2>&1 || true
    sv down reverie >/dev/null 2>&1 || true
    rm -rf "$service"
  fi
  rm -f "$HOME/.termux/boot/$BOOT_FILE"
}
