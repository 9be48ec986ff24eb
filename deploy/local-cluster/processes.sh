# shellcheck shell=bash
# Long-running processes by name: a pid file, a log, and nothing that is not ours is ever signalled.
# Sourced by local-cluster.sh, which sets RUN (the folder of pid files) and LOGS.

# The moment a process was started, in ticks since boot: with the pid it names one process for ever.
started_at() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086  # the fields after the name, split on purpose
  set -- ${stat##*) }
  [ "$1" != Z ] || return 1
  echo "${20}"
}

# The pid of a component while it runs; fails when it does not.
pid_of() {
  local pid ticks
  read -r pid ticks 2>/dev/null <"$RUN/$1.pid" || return 1
  [ "$(started_at "$pid")" = "$ticks" ] || return 1
  echo "$pid"
}

# launch NAME COMMAND…: start it in a session of its own. What it announces goes to LOGS/NAME.out,
# what it logs to LOGS/NAME.log; those of the run before are kept as NAME.log.1.
launch() {
  local name=$1 pid
  shift
  [ ! -e "$LOGS/$name.log" ] || mv -f "$LOGS/$name.log" "$LOGS/$name.log.1"
  setsid "$@" >"$LOGS/$name.out" 2>"$LOGS/$name.log" </dev/null &
  pid=$!
  disown "$pid"
  echo "$pid $(started_at "$pid" || echo 0)" >"$RUN/$name.pid"
  say "started $name (process $pid)"
}

# await NAME SECONDS COMMAND…: until the command succeeds; says where to look when it never does.
await() {
  local name=$1 looks=$((2 * $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    pid_of "$name" >/dev/null || die "$name ended while it started: see $LOGS/$name.log"
    looks=$((looks - 1))
    [ "$looks" -gt 0 ] || die "$name does not answer: see $LOGS/$name.log"
    sleep 0.5
  done
}

# A process and all below it, as "pid ticks" lines.
family() {
  local child ticks
  for child in $(ps -o pid= --ppid "$1"); do
    family "$child"
  done
  ticks=$(started_at "$1") && echo "$1 $ticks"
}

# Whether any process of such lines is still known, be it as one that nobody has buried yet:
# PostgreSQL takes even that for a rival.
any_of() {
  local each
  while read -r each _; do
    [ ! -d "/proc/$each" ] || return 0
  done <<<"$1"
  return 1
}

# halt NAME [SIGNAL] [SECONDS]: end it and what it started, by id; what outlives the signal so many
# seconds is killed. KILL is for crashes on purpose.
halt() {
  local name=$1 signal=${2:-TERM} looks=$((5 * ${3:-20})) pid everyone each ticks
  if ! pid=$(pid_of "$name"); then
    rm -f "$RUN/$name.pid"
    return 0
  fi
  everyone=$(family "$pid")
  kill -s "$signal" "$pid" 2>/dev/null || true
  while [ "$signal" != KILL ] && [ "$looks" -gt 0 ] && pid_of "$name" >/dev/null; do
    sleep 0.2
    looks=$((looks - 1))
  done
  while read -r each ticks; do
    [ "$(started_at "$each")" != "$ticks" ] || kill -s KILL "$each" 2>/dev/null || true
  done <<<"$everyone"
  # Until the kernel has let go of their ports and memory: whoever comes next finds them free.
  looks=50
  while [ "$looks" -gt 0 ] && any_of "$everyone"; do
    sleep 0.2
    looks=$((looks - 1))
  done
  rm -f "$RUN/$name.pid"
  say "ended $name"
}
