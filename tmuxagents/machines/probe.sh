# The questions of `hosts add` and `hosts check` to a far machine: sh reads this from stdin. It prints lines of a word,
# a tab and a value, between two lines with a token, since start files may print something, too. It changes nothing.
#
# Set before it: token, version, agents (lines "name program"), cwd, below (the part of the near state directory's path
# that is not there yet; in the folder above it is a file .tmuxagents-$token).

say() { printf '%s\t%s\n' "$1" "$2"; }

limited() {
  if command -v timeout >/dev/null 2>&1; then timeout 10 "$@"; else "$@"; fi </dev/null 2>/dev/null
}

# nearest FOLDER: prints it, or the nearest folder above it that exists.
nearest() {
  there=$1
  while [ ! -d "$there" ] && [ "$there" != / ] && [ "$there" != . ]; do there=$(dirname "$there"); done
  printf '%s\n' "$there"
}

# ssh starts a command without the login's own PATH, where agents often are. Its other folders are added at the end.
add_login_path() {
  login=$(limited "${SHELL:-/bin/sh}" -lc env | sed -n 's/^PATH=//p' | tail -n 1)
  before=$IFS
  IFS=:
  for folder in $login; do
    case $folder in /*) case ":$PATH:" in *":$folder:"*) ;; *) PATH=$PATH:$folder ;; esac ;; esac
  done
  IFS=$before
  export PATH
}

pythons() {
  asked='import sys, venv; print("%d.%d.%d" % sys.version_info[:3], sys.executable)'
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    found=$(command -v "$name") || continue
    say python "$(limited "$found" -I -c "$asked" | head -n 1)"
  done
}

main() {
  printf '%s\n' "$token"
  say system "$(uname -s)"
  say user "$(id -u)"
  add_login_path
  say path "$PATH"
  pythons
  say tmux "$(limited tmux -V | head -n 1)"
  say git "$(limited git --version | head -n 1)"
  say sbatch "$(command -v sbatch)"
  printf '%s\n' "$agents" | while read -r name program; do
    found=$(command -v "$program") && say agent "$name $found"
  done
  say clock "$(date +%s)"
  state=${XDG_STATE_HOME:-}
  case $state in /*) ;; *) state=$HOME/.local/state ;; esac
  state=${TMUXAGENTS_HOME:-$state/tmuxagents}
  data=${XDG_DATA_HOME:-}
  case $data in /*) ;; *) data=$HOME/.local/share ;; esac
  far=$data/tmuxagents/far
  # A home that both machines share: runs there need a state directory of their own.
  above=$(nearest "$state")
  if [ -e "$above/.tmuxagents-$token" ] && [ "${state#"$above"}" = "$below" ]; then
    state=$state-far
    say shared yes
  fi
  say state "$state"
  say far "$far"
  if [ -e "$state" ]; then say owner "$(ls -Ldn "$state" | awk '{print $1, $3}')"; fi
  for folder in "$state" "$far"; do
    there=$(nearest "$folder")
    if [ ! -w "$there" ]; then say readonly "$there"; fi
    say free "$(df -Pk "$there" | awk 'END {print $4}') $there"
  done
  if [ -x "$far/$version/tmuxagents" ]; then
    say installed "$(limited "$far/$version/tmuxagents" --version | head -n 1)"
  fi
  if [ -n "$cwd" ]; then
    case $cwd in "~") cwd=$HOME ;; "~/"*) cwd=$HOME/${cwd#??} ;; esac
    say cwd "$(cd "$HOME" && cd "$cwd" 2>/dev/null && pwd)"
  fi
  printf '%s\n' "$token"
}

main
exit
